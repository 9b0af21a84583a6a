use super::table::{NOW, ZONE, check, check_none};

#[test]
fn german_questions_name_times() {
    check(NOW, ZONE, TIMES);
}

#[test]
fn german_questions_without_times_name_none() {
    check_none(NONE);
}

#[test]
fn german_chat_names_times_or_none() {
    check(NOW, ZONE, CHAT);
}

const TIMES: &str = "
Wie hoch war es im Vergleich zu 1995 bis 2000? => 1995-01-01..2001-01-01
Was war letzte Woche im September 2025? => 2025-09-01..2025-10-01
Was habe ich gestern gesagt? => 2026-03-17
was hab ich heute gesagt => 2026-03-18
Was habe ich vorgestern über Rom erzählt? => 2026-03-16
Was habe ich über morgen gesagt? => 2026-03-19
Was ist für übermorgen bekannt? => 2026-03-20
was ist fuer uebermorgen bekannt => 2026-03-20
Was haben wir im gestrigen Gespräch beschlossen? => 2026-03-17
Was habe ich heute Morgen gesagt? => 2026-03-18T04..2026-03-18T12
Was habe ich heute früh gesagt? => 2026-03-18T04..2026-03-18T12
Was habe ich heute Abend vor? => 2026-03-18T17..2026-03-19
Was habe ich gestern Abend gegessen? => 2026-03-17T17..2026-03-18
Was habe ich gestern am Nachmittag gemacht? => 2026-03-17T12..2026-03-17T18
Was passiert morgen früh? => 2026-03-19T04..2026-03-19T12
Wovon habe ich gestern Nacht geträumt? => 2026-03-17T18..2026-03-18T06
Was habe ich letzte Woche in Berlin gesagt? => 2026-03-09..2026-03-16
Was habe ich diese Woche geschrieben? => 2026-03-16..2026-03-23
Was ist nächste Woche? => 2026-03-23..2026-03-30
Was habe ich vorletzte Woche erzählt? => 2026-03-02..2026-03-09
Was haben wir in der letzten Woche besprochen? => 2026-03-09..2026-03-16
Was habe ich letztes Wochenende gemacht? => 2026-03-14..2026-03-16
Was habe ich am Wochenende gemacht? => 2026-03-14..2026-03-16
Was war dieses Wochenende? => 2026-03-21..2026-03-23
Was habe ich letzten Monat ausgegeben? => 2026-02-01..2026-03-01
Was habe ich im vergangenen Monat ausgegeben? => 2026-02-01..2026-03-01
Was habe ich diesen Monat gelesen? => 2026-03-01..2026-04-01
Wo war ich letztes Jahr im Urlaub? => 2025-01-01..2026-01-01
Was habe ich dieses Jahr gelernt? => 2026-01-01..2027-01-01
Was habe ich vorletztes Jahr verdient? => 2024-01-01..2025-01-01
Was haben wir im letzten Quartal geliefert? => 2025-10-01..2026-01-01
Was haben wir in diesem Quartal geliefert? => 2026-01-01..2026-04-01
Was habe ich vor 3 Tagen gesagt? => 2026-03-15
Was habe ich vor drei Tagen gesagt? => 2026-03-15
Wer hat vor einer Woche angerufen? => 2026-03-09..2026-03-16
Was habe ich vor zwei Wochen gesagt? => 2026-03-02..2026-03-09
Was wog ich vor einem Monat? => 2026-02-01..2026-03-01
Wo wohnte ich vor 30 Jahren? => 1996-01-01..1997-01-01
Was habe ich vor zwei Stunden gefragt? => 2026-03-18T13:00:00..2026-03-18T14:00:00
Was habe ich vor 20 Minuten gefragt? => 2026-03-18T15:05:00..2026-03-18T15:15:00
Was habe ich in den letzten 3 Tagen gesagt? => 2026-03-15..now
Fasse die letzten drei Wochen zusammen. => 2026-02-25..now
Was war in den vergangenen zwei Monaten? => 2026-01-18..now
Was habe ich seit Montag gegessen? => 2026-03-16..now
Was habe ich seit gestern gesagt? => 2026-03-17..now
Was habe ich seit Januar gelernt? => 2026-01-01..now
Wie geht es mir seit 3 Tagen? => 2026-03-15..now
Was habe ich vor dem 3. Mai gesagt? => start..2025-05-03
Was habe ich bis gestern gesagt? => start..2026-03-18
Was habe ich nach dem 5. März gesagt? => 2026-03-06..now
Was habe ich ab dem 5. März gesagt? => 2026-03-05..now
Was habe ich am Montag gesagt? => 2026-03-16
Was habe ich letzten Montag gesagt? => 2026-03-16
was habe ich letzten freitag gesagt => 2026-03-13
Was habe ich diesen Freitag vor? => 2026-03-20
Was ist nächsten Montag? => 2026-03-23
Was haben wir im Gespräch vom Montag beschlossen? => 2026-03-16
Was habe ich am Montagabend gesagt? => 2026-03-16T17..2026-03-17
Was habe ich Montagabend gesagt? => 2026-03-16T17..2026-03-17
Was habe ich letzten Freitagmorgen gesagt? => 2026-03-13T04..2026-03-13T12
Was habe ich letzte Woche Dienstag gesagt? => 2026-03-10
Was habe ich am Freitag letzter Woche gesagt? => 2026-03-13
Was war am 5.3.2026? => 2026-03-05
Was war am 5.3.? => 2026-03-05
Was war am 05.03.26 los? => 2026-03-05
Was war am 5. März 2026? => 2026-03-05
Was war am 5. März? => 2026-03-05
was war am 5. maerz => 2026-03-05
Was war am ersten Mai? => 2025-05-01
Was war am Donnerstag, den 5. März? => 2026-03-05
Was habe ich am Montag und Dienstag gesagt? => 2026-03-16 + 2026-03-17
Was habe ich im März gesagt? => 2026-03-01..2026-04-01
Was habe ich im Mai gesagt? => 2025-05-01..2025-06-01
Was habe ich letzten Dezember gesagt? => 2025-12-01..2026-01-01
Was habe ich im März letzten Jahres gesagt? => 2025-03-01..2025-04-01
Was habe ich im März 2024 gesagt? => 2024-03-01..2024-04-01
Was habe ich Ende Februar gesagt? => 2026-02-01..2026-03-01
Was haben wir im Jahr 2024 unterschrieben? => 2024-01-01..2025-01-01
Was haben wir 2024 unterschrieben? => 2024-01-01..2025-01-01
Was habe ich von März bis Mai gemacht? => 2025-03-01..2025-06-01
Was habe ich vom 3. bis 7. März gemacht? => 2026-03-03..2026-03-08
Was habe ich vom 3. bis zum 7. März gemacht? => 2026-03-03..2026-03-08
Was haben wir zwischen 2022 und 2024 bezahlt? => 2022-01-01..2025-01-01
";

const NONE: &str = r#"
Was bieten Firmen in der heutigen Zeit an?
Was war in der Woche vom 3. Mai?
Was war am Tag nach dem 3. Mai?
Was mache ich jeden Montag?
Wo bin ich montags?
Was esse ich jeden Morgen?
Welche Tablette nehme ich täglich?
Was esse ich normalerweise am Sonntag?
Werde ich Anna am Freitag sehen?
Erinnere mich am Donnerstag an den Anruf.
Wie alt ist mein dreijähriger Neffe?
War ich zwei Wochen lang in Rom?
Welches Projekt dauert zwei Wochen?
Wer hat „Freitag der 13.“ gedreht?
Wann lief »Gestern« im Kino?
Spielen wir die Montagsmaler?
Was habe ich gesagt?
Was ist hier passiert?
Guten Morgen, was steht in meinen Notizen?
Wie heißt der Film über den Mars?
Was schrieb die Welt am Sonntag-Redaktion?
Wer spricht heute-journal und Tagesschau?
Was ist die Morgendämmerung?
Was schrieb Stefan Zweig in der Welt von Gestern?
Was kostet Python 3.12 in Version 5.3.1?
Was kostet es, 2024 Euro oder 1999 Euro?
Wie ist meine Nummer, 0171 2024 5555?
Was ist die Agenda 2030?
Was steht auf https://example.com/2026/03/05/gestern?
Was liefert `date gestern`?
Wo ist die Datei bericht-2026-03-05.pdf?
Fasse es in 2000 Wörtern zusammen.
Habe ich Windows 2000 erwähnt?
Welcher Wochentag ist mir der liebste?
Was sagte ich über das Wochenendhaus?
In welchem Monat habe ich Geburtstag?
Seit wann wohne ich hier?
Was habe ich vor ein paar Tagen gesagt?
Was habe ich vor einigen Wochen gesagt?
Was war vor mehr als 3 Wochen?
Was habe ich vor zwei oder drei Wochen gesagt?
Was war am letzten Tag der Reise?
Was war in der letzten Woche des Projekts?
Wann hat das Treffen begonnen?
Was habe ich vor allem über Anna gesagt?
Was habe ich neulich gesagt?
Was habe ich heute Nacht geträumt?
Was ist mit Frau Sonntag?
Kennst du das Märzgebirge?
Was geschah 3 Tage vor dem Urlaub?
Was war am Tag nach der Prüfung?
Wie läuft die Montags-Runde?
Ich arbeite von Montag bis Freitag, oder?
Was trinke ich am Abend?
Wie war der Morgen bei Oma?
Was habe ich am Schwarzen Freitag gekauft?
Was habe ich eines Tages gesagt?
Wer hat den Maikäfer gesehen?
Was war beim letzten Mal?
Ich zahlte 2000 in bar, oder?
Was stand in der Straße des 17. Juni?
"#;

/// Questions in a chat, half of them without a time: `-`.
const CHAT: &str = r#"
wie hieß nochmal das Restaurant, von dem ich gestern erzählt hab? => 2026-03-17
kannst du das Rezept raussuchen, das ich letzten Sonntag geschickt habe => 2026-03-15
Was meinte der Arzt letzten Monat zu meinem Knie? => 2026-02-01..2026-03-01
Welche Bücher habe ich dieses Jahr gelesen? => 2026-01-01..2027-01-01
weißt du noch, wie ich mich vor zwei Tagen über meinen Chef aufgeregt hab? => 2026-03-16
Wie hieß der Typ, den ich am Samstagabend getroffen hab? => 2026-03-14T17..2026-03-15
liste auf, was ich heute gegessen habe => 2026-03-18
Wie hab ich letzte Nacht geschlafen? => 2026-03-17T18..2026-03-18T06
Wie war meine Stimmung in den letzten zwei Wochen? => 2026-03-04..now
Fass unsere Gespräche vom letzten Donnerstag zusammen. => 2026-03-12
Was hab ich Julia am Freitag versprochen? => 2026-03-13
Was waren die Aufgaben aus dem Standup am Montag? => 2026-03-16
hab ich heute morgen meine Tabletten genommen => 2026-03-18T04..2026-03-18T12
was hab ich dir im Oktober über die Reise nach Lissabon erzählt => 2025-10-01..2025-11-01
Als ich im Januar bei der Bank anrief, was sagten die? => 2026-01-01..2026-02-01
Worüber haben wir am 3. Februar gesprochen? => 2026-02-03
Zeig mir, was ich am 14.2. geschrieben habe => 2026-02-14
Was stand in der Mail vom 14.02.2026? => 2026-02-14
Wie viele Kilometer bin ich letzte Woche gelaufen? => 2026-03-09..2026-03-16
Wie viel habe ich seit Anfang Februar abgenommen? => 2026-02-01..now
Was hat sich seit letztem Dienstag geändert? => 2026-03-17..now
Alles, was ich vor letztem Freitag notiert habe, bitte => start..2026-03-13
Was habe ich bis Ende Januar dazu gesagt? => start..2026-02-01
Ist nach dem 10. März noch was passiert? => 2026-03-11..now
Woran habe ich Ende 2024 gearbeitet? => 2024-01-01..2025-01-01
Was hat der Vermieter vor drei Monaten geschrieben? => 2025-12-01..2026-01-01
Was habe ich vor einem Jahr über Tokio gesagt? => 2025-01-01..2026-01-01
Was habe ich vor einer Stunde gefragt? => 2026-03-18T14:00:00..2026-03-18T15:00:00
Was habe ich vor 45 Minuten gesagt? => 2026-03-18T14:40:00..2026-03-18T14:50:00
Was hatten wir vorgestern ausgemacht? => 2026-03-16
Erzähl mir von meinen Terminen morgen => 2026-03-19
Was soll ich nächsten Samstag mitbringen? => 2026-03-21
Mit wem war ich am Dienstag, dem 10. März, essen? => 2026-03-10
Was habe ich am 25.12.2025 gesagt? => 2025-12-25
Was habe ich am 2026-02-28 notiert? => 2026-02-28
Habe ich die Karten am 12. Dezember 2025 gekauft? => 2025-12-12
Was kam letzten Mittwoch in der Therapie dran? => 2026-03-11
Was habe ich gestern um 17 Uhr gesagt? => 2026-03-17
Wie oft habe ich vom 1. bis zum 10. März meditiert? => 2026-03-01..2026-03-11
Was habe ich von Januar bis Februar ausgegeben? => 2026-01-01..2026-03-01
Was waren unsere Ziele im letzten Quartal? => 2025-10-01..2026-01-01
Welches Lied fand ich am letzten Wochenende so gut? => 2026-03-14..2026-03-16
Was habe ich Anfang der Woche über Mama gesagt? => -
Das Thema von vorletzter Woche, was war das? => 2026-03-02..2026-03-09
Was habe ich seit Sonntag gemacht? => 2026-03-15..now
was hab ich montag früh zur rechnung gesagt => 2026-03-16T04..2026-03-16T12
Was habe ich im November 2025 zu Steuern gesagt? => 2025-11-01..2025-12-01
Welchen Film haben wir letzten Samstag geschaut? => 2026-03-14
Gab es in den vergangenen zehn Tagen was zur Versicherung? => 2026-03-08..now
Wo war ich 2023 im Urlaub? => 2023-01-01..2024-01-01
Wie heißt meine Schwester? => -
Welche Allergien habe ich? => -
Trinke ich lieber Tee oder Kaffee? => -
Wer ist mein Zahnarzt? => -
Wie ist das WLAN-Passwort im Büro? => -
Wie trinke ich morgens meinen Kaffee? => -
Wann stehe ich normalerweise auf? => -
Habe ich jeden Dienstag ein Meeting? => -
Wann habe ich Geburtstag? => -
Wann habe ich im Job angefangen? => -
Wie lange bin ich verheiratet? => -
Was sagte ich über den Montagsblues? => -
Kommt Frau Mai zum Essen? => -
Darf ich fragen, was du über mich weißt? => -
Was macht April beruflich? => -
Ist Juni meine Tante? => -
Wie weit ist der Mars von der Sonne weg? => -
Wer ist meine zweitliebste Band? => -
Was habe ich zuletzt gesagt? => -
Was habe ich dir als Erstes erzählt? => -
Wie alt sind meine Kinder? => -
Mach mir einen Plan für die nächsten drei Tage => -
Gib mir noch eine Minute => -
Welcher Tag passt am besten fürs Training? => -
Erkläre mir den Jahresabschluss => -
Was sagte ich zur Tagesmutter? => -
Wer spielt in „Und täglich grüßt das Murmeltier“? => -
Habe ich die Olympiade 2024 erwähnt? => -
Welche Node-Version benutze ich, 20.11.1? => -
Wie hieß das Lied aus den 90ern? => -
Kenne ich den Film Übermorgen ist nie? => -
Lese ich die Wochenzeitung? => -
Ist das Rezept für den Sonntagsbraten gespeichert? => -
Was habe ich am Aschermittwoch gesagt? => -
Wie viele Stunden dauerte der Flug? => -
Wir haben drei Stunden gewartet, oder? => -
Wie viele Urlaubstage habe ich? => -
Wer von meinen Freunden ist eine Nachteule? => -
Was habe ich mal über Abende gesagt? => -
Was habe ich vor Kurzem über Kinder gesagt? => -
Was habe ich damals über Kinder gesagt? => -
Was habe ich neulich im Auto gesagt? => -
Das habe ich schon mal gesagt, oder? => -
Was kommt als Nächstes? => -
Was ist der nächste Schritt? => -
Ist der letzte Punkt erledigt? => -
In dieser Hinsicht, was meinte ich? => -
Wie heißt das Buch von Paul Auster? => -
Was steht heutzutage in Verträgen? => -
Bin ich ein Morgenmensch? => -
Gestern habe ich einen Podcast erwähnt, welchen? => 2026-03-17
Die heutige Aufgabenliste bitte => 2026-03-18
Kannst du den Dienstag zusammenfassen? => -
Letzte Woche erzählte ich von einem Geräusch im Auto. => 2026-03-09..2026-03-16
Wie oft war ich in den letzten 30 Tagen im Fitnessstudio? => 2026-02-16..now
Was stand in der Mail vom 7. Januar? => 2026-01-07
Habe ich in der ersten Februarwoche mit Sam gesprochen? => -
Was war am Donnerstag, 12. März 2026, mittags? => 2026-03-12
Was war am Morgen des 4. März? => 2026-03-04
Gibt es Neues aus dem Newsletter dieses Monats? => 2026-03-01..2026-04-01
Wie war das Vorstellungsgespräch vor zwei Wochen? => 2026-03-02..2026-03-09
Was habe ich in den letzten 6 Monaten gelernt? => 2025-09-18..now
Irgendwas seit dem 1. März? => 2026-03-01..now
Was sagte ich zwischen Montag und gestern? => 2026-03-16..2026-03-18
War ich im letzten Jahr in Rom? => 2025-01-01..2026-01-01
Was habe ich Anfang 2025 gesagt? => 2025-01-01..2026-01-01
Welche Prüfungen habe ich 2019 bestanden? => 2019-01-01..2020-01-01
Was habe ich zum Termin am Freitag gesagt? => 2026-03-13
Wer gewann die WM 2018? => -
Mein Sohn ist 3 Tage alt. => -
Ich bin in 5 Minuten zurück => -
Was hat Apple letzten September angekündigt? => 2025-09-01..2025-10-01
Was schrieb ich im Mai letzten Jahres über die Maifeier? => 2025-05-01..2025-06-01
Wo war ich heute vor einem Jahr? => 2026-03-18 + 2025-01-01..2026-01-01
Haben wir darüber Montag Abend gesprochen? => 2026-03-16T17..2026-03-17
Was hatte ich letzten Sonntagnachmittag vor? => 2026-03-15T12..2026-03-15T18
Was steht in den Notizen von gestern Abend? => 2026-03-17T17..2026-03-18
Was war das Ergebnis des gestrigen Tests? => 2026-03-17
Worüber lachten wir am vergangenen Samstag so? => 2026-03-14
Bis wann muss ich das abgeben? => -
Was sagt die Morgenpost? => -
Ist der Sonntag frei? => -
Was bedeutet carpe diem? => -
Ist die Woche schon voll? => -
Ich war 2 Monate krank, wann war das? => -
Hatten wir nicht diesen Herbst darüber geredet? => -
Was kostete es vor der Erhöhung? => -
Was war vor dem Wochenende? => -
Fang bei Punkt 5. Mai ist Thema? => -
was haben wir im Call heute Nachmittag festgelegt? => 2026-03-18T12..2026-03-18T18
such bitte das mit dem Kredit von Mitte Januar raus => 2026-01-01..2026-02-01
hab ich in den letzten 6 Wochen Kopfschmerzen erwähnt => 2026-02-04..now
Wo war ich zwischen dem 10. und 14. März? => 2026-03-10..2026-03-15
Wer kommt laut mir nächsten Monat zu Besuch? => 2026-04-01..2026-05-01
Was schrieb ich am 28. Februar 2025? => 2025-02-28
Vor fünf Wochen sagte ich was zu Visa. => 2026-02-09..2026-02-16
Schau alles vom 1. Februar bis 7. Februar durch => 2026-02-01..2026-02-08
Vergleich diese Woche mit letzter Woche. => 2026-03-16..2026-03-23 + 2026-03-09..2026-03-16
Was kam bei der Besprechung im Dezember 2025 raus? => 2025-12-01..2026-01-01
Letzten Donnerstagmorgen habe ich Code geschickt, zeig ihn. => 2026-03-12T04..2026-03-12T12
In 2022 habe ich den Job gewechselt; was sagte ich dazu? => 2022-01-01..2023-01-01
Trat der Fehler schon vor dem 2. März auf? => start..2026-03-02
Was habe ich seit heute früh über Maya gesagt? => 2026-03-18T04..now
Hast du noch die Einkaufsliste von vorgestern? => 2026-03-16
Was war im Urlaub letzten August am schönsten? => 2025-08-01..2025-09-01
Wie viel Umsatz hatten wir im vorletzten Monat? => 2026-01-01..2026-02-01
Ist das Treffen um 3? => -
Mein Flug ist LH2024 an Gate 5, oder? => -
Wie setze ich das Datum in PHP? => -
Schulde ich ihm 300 oder 2000 Euro? => -
Was ist der Unterschied zwischen Tag- und Nachtschicht? => -
Ich las ein Buch namens Letzte Nacht der Welt? => -
Wer ist August Macke? => -
Mag ich Wednesday Addams? => -
Übersetze guten Morgen ins Finnische. => -
Erzähl eine Geschichte über letzte Chancen. => -
Was soll ich nächstes Mal mitbringen? => -
War das ein Einjahresvertrag? => -
Warum dauert das Wochen? => -
Wie war der Tag, an dem ich Ann traf? => -
Wie spät ist es jetzt in Tokio? => -
Was heißt Sommerzeit? => -
Kommt die Müllabfuhr dienstags? => -
"#;
