"use strict";
// Marks each entry whose signature is valid and not that of another entry, and shows the signed words below it.
const button = document.getElementById("verify");
const keys = new Map();

const bytes = (text) =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (each) => each.charCodeAt(0));

function imported(key) {
  if (!keys.has(key))
    keys.set(key, crypto.subtle.importKey("raw", bytes(key), "Ed25519", false, ["verify"]));
  return keys.get(key);
}

async function isProven(proof) {
  const signed = new TextEncoder().encode(proof.signed);
  return crypto.subtle.verify("Ed25519", await imported(proof.key), bytes(proof.signature), signed);
}

const signedParts = (proof) => JSON.parse(proof.signed.slice(proof.signed.indexOf("\0") + 1));

function isNew(proof, seen) {
  const [, kind, , content] = signedParts(proof);
  const known = JSON.stringify(kind === "said" ? [proof.key, content.id] : proof.signature);
  return !seen.has(known) && seen.add(known);
}

function signedWords(proof) {
  const content = signedParts(proof)[3];
  const text = content.text ?? JSON.stringify(content, null, 1);
  return text.replace(/(?!\n)[\p{Cc}\p{Cf}]/gu, (each) => `⟨U+${each.codePointAt(0).toString(16).toUpperCase()}⟩`);
}

function element(tag, kind, text) {
  const made = document.createElement(tag);
  made.className = kind;
  made.textContent = text;
  return made;
}

function mark(entry, kind, text, words) {
  const place = entry.querySelector(":scope > summary") ?? entry.querySelector(":scope > h3") ?? entry;
  const shown = element("span", `proof ${kind}`, text);
  place.append(shown);
  if (words === undefined || entry.tagName === "P") return;
  const details = element("details", "proof", "");
  details.append(element("summary", "", "the signed words"), element("pre", "", words));
  entry.append(details);
}

async function verify() {
  button.disabled = true;
  const seen = new Set();
  let proven = 0, failed = 0;
  for (const data of document.querySelectorAll('script[type="application/json"]')) {
    const entry = data.parentElement, proof = JSON.parse(data.textContent);
    const good = (await isProven(proof).catch(() => false)) && isNew(proof, seen);
    good ? ++proven : ++failed;
    mark(entry, good ? "good" : "bad", good ? `✓ signed by ${proof.by}` : "⚠ not proven", good ? signedWords(proof) : undefined);
  }
  for (const entry of document.querySelectorAll("article:not(:has(> script))")) {
    ++failed;
    mark(entry, "bad", "⚠ not proven");
  }
  document.getElementById("verified").textContent = `${proven} entries are signed, ${failed} not proven`;
}

if (globalThis.crypto?.subtle) {
  button.hidden = false;
  button.addEventListener("click", verify);
  if (location.hash === "#verify") verify();
}
