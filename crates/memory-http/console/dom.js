// Elements. Text becomes text nodes and nothing else: no string is ever parsed as markup.

const SVG = "http://www.w3.org/2000/svg";

/**
 * An element. Of `properties`, functions are listeners (`onclick`), `class`, `aria-*` and so on
 * are attributes; false, null and undefined leave one out.
 */
export function h(tag, properties, ...children) {
  return fill(document.createElement(tag), properties, children);
}

/** The same in SVG. */
export function s(tag, properties, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === false || value === null || value === undefined) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (name === "grow") element.style.flexGrow = String(value);
    else if (name === "width" && element instanceof HTMLElement) element.style.width = String(value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

/** Appends nodes, texts and lists of them; null and false are nothing. */
export function append(element, children) {
  for (const child of [children].flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

/** Replaces the children of an element. */
export function replace(element, ...children) {
  element.replaceChildren();
  return append(element, children);
}

/** Words that say nothing about a match. */
const COMMON = new Set("the and for are was were you your what how will would did does has have had who when where which that this with from not but can could should".split(" "));

/** A text in which the words of a query are marked. */
export function marked(text, query) {
  const words = new Set((query ?? "").toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? []).difference(COMMON);
  if (words.size === 0) return [text];
  return text.split(/([\p{L}\p{N}]+)/u).map((piece) =>
    words.has(piece.toLowerCase()) ? h("mark", null, piece) : piece,
  );
}

/** Says something to screen readers. */
export function announce(text) {
  document.getElementById("announce").textContent = text;
}
