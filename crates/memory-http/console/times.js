// Times that people enter, and those that the server read in a question. All are in the browser's time zone.

import { h } from "./dom.js";
import { date, localTime } from "./format.js";
import { field } from "./parts.js";

/** An input of a date and time, which has that of the address. */
function timeInput(params, name) {
  return h("input", { type: "datetime-local", step: "1", max: "9999-12-31T23:59:59", value: localTime(params.get(name) ?? "") });
}

/** The time of an input as an address and the API have it; "" of an empty one. */
function timeOf(input) {
  return input.value ? new Date(input.value).toISOString() : "";
}

/** The times between which messages were said, as inputs. `value()` returns the parameters. */
export function rangeFields(params) {
  const [from, until] = [timeInput(params, "from"), timeInput(params, "until")];
  return { nodes: [field("From", from), field("Until", until)], value: () => ({ from: timeOf(from), until: timeOf(until) }) };
}

/** Those of the address in a request, and where its question is asked. */
export function asked(params) {
  return {
    filter: { startTime: params.get("from") || undefined, endTime: params.get("until") || undefined },
    queryTime: { timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone },
  };
}

/** The times at which memories were true and known, as inputs. `value()` returns the parameters. */
export function truthFields(params) {
  const [asOf, knownAt] = [timeInput(params, "asof"), timeInput(params, "known")];
  return { nodes: [field("As of", asOf), field("Known at", knownAt)], value: () => ({ asof: timeOf(asOf), known: timeOf(knownAt) }) };
}

/** Those of the address in a request. */
export function truth(params) {
  return { asOf: params.get("asof") || undefined, knownAt: params.get("known") || undefined };
}

/** How each time that a question names was read. */
export function namedTimes(list) {
  return (list ?? []).map((one) => h("p", { class: "note", role: "status" },
    h("strong", null, `${one.text}: `), `${date(one.startTime)} to ${date(one.endTime)}`));
}
