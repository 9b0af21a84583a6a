//! Recollect away, or slow.

use recollect_tests::{
    DataDir, Key, Options, Provider, ProviderAnswer, ProviderApi, SOON, Server, app, apply,
    eventually, send_signal, trial_with_own_server,
};
use rustix::process::Signal;

use super::{Proxy, history, memory};

#[apply(trial_with_own_server)]
async fn without_recollect_the_call_goes_on() {
    let chat = ProviderApi::Chat;
    let stream = chat.stream("a", "Grüße aus 東京, with a few more words.");
    let script = stream.clone();
    let provider = Provider::new(move |_| ProviderAnswer::events(&script, &[7, 99, 100, 101]));
    let dir = DataDir::new();
    let options = Options::with(&["embedding.kind = \"none\""]);
    let server = Server::start(&dir, &options);
    let app = app();
    let args = ["--app", &app, "--user", "ada", "--recall-timeout", "500ms"];
    let proxy = Proxy::start(&provider, &server.ready().addr, &args);
    let session = [("x-recollect-session", "s")];

    // While it hangs, requests go on in time, and the turn is stored afterwards.
    send_signal(server.ready().pid, Signal::STOP);
    let body = chat.request(&["Hello"], None);
    let answer = proxy.ask(chat, &session, &body).await;
    assert_eq!(answer.body, stream);
    assert_eq!(memory(&answer), ("unavailable", 0));
    assert_eq!(answer.headers["x-recollect-reason"], "deadline");
    assert_eq!(provider.last().text(), body.to_string());
    assert_eq!(proxy.count("turns_waiting").await, 1);
    send_signal(server.ready().pid, Signal::CONT);
    proxy.stored(1).await;
    let client = server.client(Key::Acme).await;
    assert_eq!(history(&client, &app, "ada", "s").await.len(), 2);

    // Once it is gone, requests go on at once.
    server.kill();
    let answer = proxy.ask(chat, &session, &body).await;
    assert_eq!(answer.body, stream);
    assert_eq!(memory(&answer), ("unavailable", 0));
    assert_eq!(proxy.count("requests_without_recollect").await, 2);
    assert_eq!(proxy.count("turns_waiting").await, 1);
    assert_eq!(proxy.count("turns_lost").await, 0);
}

#[apply(trial_with_own_server)]
async fn a_proxy_that_stops_stores_what_waits() {
    let chat = ProviderApi::Chat;
    let provider = Provider::new(move |_| chat.answer("a", "Yes."));
    let (_dir, server, client) =
        Server::start_own(&Options::with(&["embedding.kind = \"none\""])).await;
    let app = app();
    let proxy = Proxy::start(
        &provider,
        &server.ready().addr,
        &["--app", &app, "--user", "ada"],
    );
    for session in ["a", "b", "c", "d"] {
        let body = chat.request(&["Is it stored?"], None);
        let answer = proxy
            .ask(chat, &[("x-recollect-session", session)], &body)
            .await;
        assert_eq!(answer.status, 200);
    }
    proxy.process.interrupt();
    assert_eq!(proxy.process.code(), Some(0));
    for session in ["a", "b", "c", "d"] {
        eventually("the turn is there", SOON, async || {
            history(&client, &app, "ada", session).await.len() == 2
        })
        .await;
    }
}
