// Times that people enter, and those that the server read in a question. All are in the browser's time zone.

import { h } from "./dom.js";
import { date, localTime } from "./format.js";
import { field } from "./parts.js";

/** An input of a date and time, which has that of the address. */
export function timeInput(params, name) {
  return h("input", { type: "datetime-local", step: "1", max: "9999-12-31T23:59:59", value: localTime(params.get(name) ?? "") });
}

/** The time of an input as an address and the API have it; "" of an empty one. */
export function timeOf(input) {
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

/** How each time that a question names was read. */
export function namedTimes(list) {
  return (list ?? []).map((one) => h("p", { class: "note", role: "status" },
    h("strong", null, `${one.text}: `), `${date(one.startTime)} to ${date(one.endTime)}`));
}
