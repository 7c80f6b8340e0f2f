"use strict";
// A room in a browser. Text of people and agents is only ever set as the text of a node.

const $ = (id) => document.getElementById(id);
const RETRY_FIRST = 500, RETRY_LONGEST = 10000, TYPING_EVERY = 2000, TYPING_SHOWN = 4000, MOST_ENTRIES = 600, MANY = 5;
const [link, secret] = location.hash.slice(1).split(".");

const room = {
  feed: "", since: 0, name: "", role: "", members: [], mostChars: 0,
  entries: new Map(), elements: new Map(), streams: new Map(), pending: new Map(), typing: new Map(),
};
let socket = null, retries = 0, retryTimer = 0, ended = true, replyTo = 0, lastTyping = 0, isWelcome = false, liveTimer = 0, isPinned = true;

// -- nodes

function node(tag, className, ...children) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...children.filter((child) => child !== null));
  return made;
}

function nameNode(name) {
  return node("bdi", "name", name);
}

function timeNode(at) {
  const moment = new Date(at * 1000);
  const made = node("time", "", clock(moment));
  if (!Number.isNaN(moment.getTime())) made.dateTime = moment.toISOString();
  return made;
}

function clock(moment) {
  const time = { hour: "2-digit", minute: "2-digit" };
  const isToday = moment.toDateString() === new Date().toDateString();
  return isToday ? moment.toLocaleTimeString([], time)
    : moment.toLocaleString([], { day: "numeric", month: "short", ...time });
}

// -- text: paragraphs, code, lists, links; everything else stays as it was written

const INLINE = /`([^`\n]+)`|\*\*([^*\n]+)\*\*|(https?:\/\/[^\s<>"'`]+)/g;
const FENCE = /^ {0,3}```\s*[\w+#.-]*\s*$/;
const FENCE_END = /^ {0,3}```\s*$/;
const ITEM = /^\s{0,3}([-*]|\d{1,3}[.)])\s+(.*)$/;
const HEADING = /^#{1,6}\s+(.*)$/;

function inline(text) {
  const made = document.createDocumentFragment();
  let end = 0;
  for (const found of text.matchAll(INLINE)) {
    made.append(text.slice(end, found.index));
    end = found.index + found[0].length;
    if (found[1] !== undefined) made.append(node("code", "", found[1]));
    else if (found[2] !== undefined) made.append(node("strong", "", found[2]));
    else {
      const shown = found[3].replace(/[.,;:!?)\]]+$/, "");
      made.append(linkNode(shown), found[3].slice(shown.length));
    }
  }
  made.append(text.slice(end));
  return made;
}

function linkNode(text) {
  let address = null;
  try { address = new URL(text); } catch { return document.createTextNode(text); }
  if (address.protocol !== "http:" && address.protocol !== "https:") return document.createTextNode(text);
  const made = node("a", "", text);
  made.href = address.href;
  made.target = "_blank";
  made.rel = "noopener noreferrer";
  return made;
}

function textNodes(text) {
  const made = document.createDocumentFragment();
  const lines = text.split("\n");
  let paragraph = [], at = 0, lastClose = lines.length - 1;
  while (lastClose > 0 && !FENCE_END.test(lines[lastClose])) lastClose--;
  const flush = () => {
    if (paragraph.length) made.append(node("p", "", inline(paragraph.join("\n"))));
    paragraph = [];
  };
  while (at < lines.length) {
    const line = lines[at];
    if (at < lastClose && FENCE.test(line)) {
      flush();
      let close = at + 1;
      while (!FENCE_END.test(lines[close])) close++;
      const code = node("pre", "", node("code", "", lines.slice(at + 1, close).join("\n")));
      code.tabIndex = 0;
      code.setAttribute("role", "group");
      code.setAttribute("aria-label", "Code");
      made.append(code);
      at = close + 1;
    } else if (ITEM.test(line)) {
      flush();
      const isNumbered = /\d/.test(line.match(ITEM)[1]);
      const list = node(isNumbered ? "ol" : "ul");
      if (isNumbered) list.start = parseInt(line.match(ITEM)[1], 10);
      for (; at < lines.length && ITEM.test(lines[at]); at++) {
        const [, mark, item] = lines[at].match(ITEM);
        if (/\d/.test(mark) !== isNumbered) break;
        list.append(node("li", "", inline(item)));
      }
      made.append(list);
    } else if (HEADING.test(line)) {
      flush();
      made.append(node("p", "heading", node("strong", "", inline(line.match(HEADING)[1]))));
      at++;
    } else if (!line.trim()) {
      flush();
      at++;
    } else {
      paragraph.push(line);
      at++;
    }
  }
  flush();
  const all = node("div", "text", made);
  all.dir = "auto"; // at the end: the browser seeks the direction again after each change
  return all;
}

// -- entries: each has parts, and a part is drawn again only if it changed

function part(holder, name, value, draw) {
  const key = JSON.stringify(value === undefined ? null : value);
  let held = holder.parts.get(name);
  if (held && held.key === key) return;
  if (!held) {
    held = { element: node("div", name) };
    holder.element.append(held.element);
    holder.parts.set(name, held);
  }
  held.key = key;
  held.element.replaceChildren(...[draw()].flat().filter((each) => each !== null));
}

function entryElement(entry) {
  const element = node("article", `entry-${entry.type}`);
  const holder = { element, parts: new Map() };
  element.dataset.seq = entry.seq;
  room.elements.set(entry.seq, holder);
  return holder;
}

function drawEntry(entry) {
  const holder = room.elements.get(entry.seq) || place(entry);
  if (entry.type === "notice") {
    part(holder, "line", [entry.mark, entry.text], () => {
      const mark = node("span", "mark", entry.mark);
      mark.setAttribute("aria-hidden", "true");
      return [mark, node("span", "", ` ${entry.text} `), timeNode(entry.at)];
    });
  } else if (entry.type === "answer") {
    part(holder, "head", [entry.to], () => head(entry, "genie", [" to ", nameNode(entry.to)]));
    part(holder, "body", [entry.text, entry.note], () => [textNodes(entry.text), noteNode(entry.note)]);
    part(holder, "reactions", entry.reactions, () => reactionNodes(entry.reactions));
  } else {
    holder.element.classList.toggle("own", entry.by === room.name && !entry.agent);
    part(holder, "head", [entry.marks, entry.private, entry.agent, room.role],
      () => head(entry, entry.by, messageMarks(entry)));
    part(holder, "body", [entry.text, entry.deleted, entry.note, entry.reply, entry.quotes, entry.files],
      () => bodyNodes(entry));
    part(holder, "reactions", entry.reactions, () => reactionNodes(entry.reactions));
    part(holder, "work", entry.work, () => workNodes(entry.work));
    holder.parts.get("work").element.setAttribute("aria-live", "off");
  }
}

function place(entry) {
  const holder = entryElement(entry), log = $("log");
  let after = log.lastElementChild;
  while (after && Number(after.dataset.seq) > entry.seq) after = after.previousElementSibling;
  if (after) after.after(holder.element);
  else log.prepend(holder.element);
  return holder;
}

function head(entry, by, more) {
  const made = node("h3", "", nameNode(by), ...more, " ", timeNode(entry.at));
  if (!canWrite()) return made;
  made.append(" ", node("span", "number", `[${entry.seq}]`));
  const reply = node("button", "reply", "Reply");
  reply.type = "button";
  reply.setAttribute("aria-label", `Reply to ${by}`);
  reply.addEventListener("click", () => beginReply(entry.seq, by, entry.text || ""));
  return [made, reply];
}

function messageMarks(entry) {
  const marks = [];
  if (entry.agent) marks.push("agent");
  if (entry.private) marks.push(`private, to ${entry.private}`);
  marks.push(...(entry.marks || []));
  return marks.map((text) => node("span", "tag", text));
}

function bodyNodes(entry) {
  if (entry.deleted) return [node("p", "deleted", "deleted by its author")];
  const nodes = [];
  if (entry.reply) {
    const quoted = entry.reply.text || "deleted by its author";
    nodes.push(node("blockquote", "", node("span", "", nameNode(entry.reply.by), `: ${quoted}`)));
  }
  if (entry.emote) nodes.push(node("p", "emote", nameNode(entry.by), ` ${entry.text}`));
  else if (entry.text) nodes.push(textNodes(entry.text));
  for (const quote of entry.quotes || []) nodes.push(node("blockquote", "quote", quote));
  if (entry.files) {
    const items = entry.files.map((file) => node("li", "", node("bdi", "", file.name), ` · ${file.about}`));
    const list = node("ul", "files", ...items);
    list.setAttribute("aria-label", "Files, which open in the program");
    nodes.push(list);
  }
  nodes.push(noteNode(entry.note));
  return nodes;
}

function noteNode(note) {
  return note ? node("p", "note", note) : null;
}

function reactionNodes(reactions) {
  return (reactions || []).map((each) => {
    const made = node("span", "reaction", `${each.text} ${each.by.length}`);
    made.title = each.by.join(", ");
    made.setAttribute("aria-label", `${each.text} by ${each.by.join(", ")}`);
    made.setAttribute("role", "img");
    return made;
  });
}

function workNodes(work) {
  if (!work) return [];
  const nodes = [];
  if (work.line && work.detail) {
    const details = node("details", "", node("summary", "", work.line), node("p", "detail", work.detail));
    nodes.push(details);
  } else if (work.line) nodes.push(node("p", work.state === "busy" ? "busy" : "", work.line));
  for (const each of nodes) each.classList.add(`is-${work.state}`);
  for (const call of work.calls || []) nodes.push(node("p", "call", call));
  return nodes;
}

// -- answers being written

function drawStream(message, more) {
  let stream = room.streams.get(message);
  if (!stream) {
    const entry = room.entries.get(message);
    const to = entry ? [" to ", nameNode(entry.by)] : [];
    const text = node("div", "text");
    text.dir = "auto";
    const element = node("article", "entry-answer streaming",
      node("div", "head", node("h3", "", nameNode("genie"), ...to, node("span", "tag", "writing"))),
      node("div", "body", text));
    stream = { element, text };
    room.streams.set(message, stream);
    $("streams").append(element);
  }
  stream.text.append(more);
}

function endStream(message) {
  const stream = room.streams.get(message);
  if (!stream) return;
  stream.element.remove();
  room.streams.delete(message);
}

// -- what the gateway sends

function apply(update) {
  const wasAtEnd = isAtEnd();
  if (update.status) showStatus(update.status);
  if (update.reset) reset();
  room.feed = update.feed;
  room.since = update.head;
  if (update.name) room.name = update.name;
  if (update.role) room.role = update.role;
  if (update.most_chars) room.mostChars = update.most_chars;
  if (update.title) {
    $("title").firstElementChild.textContent = update.title;
    document.title = update.title;
  }
  if (update.members) { room.members = update.members; drawMembers(); }
  const entries = update.entries || [];
  for (const entry of entries) {
    room.entries.set(entry.seq, entry);
    drawEntry(entry);
    if (entry.type === "message" && !["busy", "waiting"].includes((entry.work || {}).state)) endStream(entry.seq);
  }
  for (const seq of update.gone || []) {
    const held = room.elements.get(seq);
    if (held) held.element.remove();
    room.elements.delete(seq);
    room.entries.delete(seq);
  }
  for (const stream of update.streams || []) drawStream(stream.message, stream.text);
  for (const sent of update.sent || []) settle(sent.id, sent.why || "", sent.shown || "");
  for (const name of update.typing || []) room.typing.set(name, Date.now() + TYPING_SHOWN);
  for (const entry of entries) room.typing.delete(entry.by);
  drawTyping();
  if (update.notices) announce(update.notices[update.notices.length - 1]);
  if (entries.length && (!isWelcome || (entries.length > MANY && isQuiet()))) welcome();
  if (wasAtEnd) trim();
  if (wasAtEnd || update.reset) toEnd();
  else if (entries.some((entry) => entry.type !== "notice")) $("newer").hidden = false;
}

function trim() {
  // A page that stays open for days holds as much as one that was opened now.
  while (room.elements.size > MOST_ENTRIES) {
    const oldest = $("log").firstElementChild;
    const seq = Number(oldest.dataset.seq);
    oldest.remove();
    room.elements.delete(seq);
    room.entries.delete(seq);
    $("earlier").hidden = false;
  }
}

function reset() {
  for (const held of room.elements.values()) held.element.remove();
  for (const message of [...room.streams.keys()]) endStream(message);
  room.elements.clear();
  room.entries.clear();
  $("log").setAttribute("aria-live", "off");
  isWelcome = false;
}

function welcome() {
  // What was said before is there to read, and is not read out.
  isWelcome = true;
  $("earlier").hidden = room.entries.has(1);
  clearTimeout(liveTimer); // a long past comes in several updates
  liveTimer = setTimeout(() => { $("log").setAttribute("aria-live", "polite"); }, 1000);
}

function isQuiet() {
  return $("log").getAttribute("aria-live") === "off";
}

function showStatus(status) {
  const words = {
    online: "", connecting: "Connecting to the room…",
    retrying: "The room can't be reached; trying again…", closed: "You are no longer in the room",
  };
  let text = words[status.state] === undefined ? status.state : words[status.state];
  if (status.state === "online" && status.closing !== undefined) text = "The host is about to close the room";
  if (status.detail) text = text ? `${text} (${status.detail})` : status.detail;
  announce(text);
  document.body.dataset.state = status.state;
  if (status.state === "closed") end(text);
}

function announce(text) {
  if ($("status").textContent !== text) $("status").textContent = text;
}

function drawMembers() {
  const items = room.members.map((member) => {
    const tags = [];
    if (member.role !== "member") tags.push(member.role);
    if (member.agent) tags.push("agent");
    if (member.muted) tags.push("muted");
    if (member.name === room.name) tags.push("you");
    const agent = member.engine ? node("span", "engine", member.busy ? `${member.engine}, ${member.busy}` : member.engine) : null;
    return node("li", "", nameNode(member.name), ...tags.map((tag) => node("span", "tag", tag)), agent);
  });
  $("people").replaceChildren(...items);
  $("count").textContent = String(room.members.length);
  $("composer").hidden = !canWrite();
  $("only-reads").hidden = canWrite();
}

function canWrite() {
  const me = room.members.find((member) => member.name === room.name);
  return room.role !== "observer" && !(me && me.role === "observer");
}

function drawTyping() {
  const now = Date.now();
  for (const [name, until] of room.typing) if (until <= now) room.typing.delete(name);
  const names = [...room.typing.keys()].slice(0, 3);
  const shown = names.flatMap((name, i) => [i ? ", " : "", nameNode(name)]);
  $("typing").replaceChildren(...shown, names.length ? (names.length > 1 ? " are typing…" : " is typing…") : "");
}

// -- scrolling

function isAtEnd() {
  const box = $("scroller");
  return box.scrollHeight - box.scrollTop - box.clientHeight < 80;
}

function toEnd() {
  $("scroller").scrollTop = $("scroller").scrollHeight;
  $("newer").hidden = true;
  isPinned = true;
}

// -- writing

function send(frame) {
  if (socket && socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(frame));
}

function say() {
  const text = $("text").value;
  if (!text.trim()) return;
  if (room.mostChars && [...text].length > room.mostChars) {
    $("said-error").textContent = `This is longer than the ${room.mostChars} characters that the room takes.`;
    return;
  }
  const id = Array.from(crypto.getRandomValues(new Uint32Array(3)), (each) => each.toString(36)).join("");
  const element = node("article", "entry-message own sending",
    node("div", "head", node("h3", "", nameNode(room.name), node("span", "tag", "sending"))),
    node("div", "body", textNodes(text)));
  room.pending.set(id, { frame: { type: "say", id, text, reply: replyTo }, element });
  $("pending").append(element);
  send(room.pending.get(id).frame);
  $("text").value = "";
  $("said-error").textContent = "";
  $("answer").hidden = true;
  endReply();
  grow();
  toEnd();
}

function settle(id, why, shown) {
  const pending = room.pending.get(id);
  if (!pending) return;
  room.pending.delete(id);
  pending.element.remove();
  if (shown) { $("answer").textContent = shown; $("answer").hidden = false; toEnd(); }
  if (!why) return;
  $("said-error").textContent = `${pending.frame.text.startsWith("/") ? "Not done" : "Not sent"}: ${why}`;
  if (!$("text").value) { $("text").value = pending.frame.text; grow(); }
}

function beginReply(seq, by, text) {
  replyTo = seq;
  const start = [...text.split("\n")[0]].slice(0, 80).join("");
  $("replying-to").replaceChildren("Reply to ", nameNode(by), `: ${start}`);
  $("replying").hidden = false;
  $("text").focus();
}

function endReply() {
  replyTo = 0;
  $("replying").hidden = true;
}

function grow() {
  const lines = $("text").value.split("\n").length;
  $("text").rows = Math.min(8, Math.max(1, lines));
}

// -- connecting

async function ask(what, body) {
  const request = { method: body === undefined ? "GET" : "POST", credentials: "same-origin", cache: "no-store" };
  if (body !== undefined) {
    request.headers = { "content-type": "application/json" };
    request.body = JSON.stringify(body);
  }
  const answer = await fetch(`/v/${encodeURIComponent(link)}/${what}`, request);
  let said = { error: "The page got no proper answer." };
  try { said = await answer.json(); } catch { /* a proxy's own page */ }
  return { ok: answer.ok, here: said.here === true, text: said.error || "" };
}

function connect() {
  const where = `${location.protocol === "https:" ? "wss:" : "ws:"}//${location.host}`;
  const query = new URLSearchParams({ feed: room.feed, since: String(room.since) });
  const opened = new WebSocket(`${where}/v/${encodeURIComponent(link)}/socket?${query}`);
  socket = opened;
  opened.addEventListener("open", () => {
    retries = 0;
    for (const message of [...room.streams.keys()]) endStream(message); // it is sent again as a whole
    for (const pending of room.pending.values()) send(pending.frame);
  });
  opened.addEventListener("message", (event) => apply(JSON.parse(event.data)));
  opened.addEventListener("close", () => { if (socket === opened && !ended) retry(); });
}

function retry() {
  announce("Connection lost; trying again…");
  const wait = Math.min(RETRY_LONGEST, RETRY_FIRST * 2 ** retries++) * (0.5 + Math.random() / 2);
  clearTimeout(retryTimer);
  retryTimer = setTimeout(async () => {
    try {
      const visit = await ask("visit");
      if (visit.ok && !visit.here) end("Your visit has ended. Open your link again.");
      else connect();
    } catch { retry(); }
  }, wait);
}

function begin() {
  ended = false;
  $("entry").hidden = true;
  $("room").hidden = false;
  history.replaceState(null, "", `#${link}`); // the secret is of no more use in the address bar
  connect();
  $("text").focus();
}

function end(text) {
  ended = true;
  if (socket) socket.close();
  if (!$("text").value && room.pending.size) $("text").value = [...room.pending.values()].map((each) => each.frame.text).join("\n");
  announce(text);
  $("send").disabled = true;
  $("leave").textContent = "Close";
}

function showEntry(title, text, canEnter) {
  $("room").hidden = true;
  $("entry").hidden = false;
  $("entry-title").textContent = title;
  $("entry-text").textContent = text;
  $("enter").hidden = !canEnter;
  if (canEnter) $("name").focus();
  else $("entry-title").focus();
}

async function enter(event) {
  event.preventDefault();
  const button = $("enter").querySelector("button");
  button.disabled = true;
  $("entry-error").textContent = "";
  try {
    const answer = await ask("enter", { secret, name: $("name").value });
    if (answer.ok) { begin(); return; }
    $("entry-error").textContent = answer.text;
  } catch {
    $("entry-error").textContent = "The page's server can't be reached; try again.";
  } finally {
    button.disabled = false;
  }
  $("name").focus();
}

async function leave() {
  const wasHere = !ended;
  ended = true;
  clearTimeout(retryTimer);
  if (socket) socket.close();
  try { await ask("leave", {}); } catch { /* the gateway notices by itself */ }
  showEntry(wasHere ? "You have left the room" : "You are no longer in the room", "Open your link again to come back.", false);
}

async function start() {
  $("enter").addEventListener("submit", enter);
  $("leave").addEventListener("click", leave);
  $("composer").addEventListener("submit", (event) => { event.preventDefault(); say(); });
  $("text").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); say(); }
    if (event.key === "Escape" && replyTo) endReply();
  });
  $("text").addEventListener("input", () => {
    grow();
    if (Date.now() - lastTyping > TYPING_EVERY) { lastTyping = Date.now(); send({ type: "typing" }); }
  });
  $("no-reply").addEventListener("click", () => { endReply(); $("text").focus(); });
  $("newer").addEventListener("click", () => { toEnd(); $("text").focus(); });
  $("scroller").addEventListener("scroll", () => {
    isPinned = isAtEnd();
    if (isPinned) $("newer").hidden = true;
  });
  new ResizeObserver(() => { if (isPinned) toEnd(); }).observe($("scroller"));
  $("show-members").addEventListener("click", () => {
    const isShown = document.body.classList.toggle("with-members");
    $("show-members").setAttribute("aria-expanded", String(isShown));
  });
  window.addEventListener("hashchange", () => location.reload());
  setInterval(drawTyping, 1000);
  if (!link) { showEntry("Open your link", "A room is joined by the link that one of its members gave you.", false); return; }
  let visit = null;
  try { visit = await ask("visit"); } catch { /* told when the person joins */ }
  if (visit && visit.here) begin();
  else if (secret) showEntry("Join the room", "Choose the name under which the others see you. It can't be changed later.", true);
  else showEntry("Open your link again", "Your visit has ended. The whole link lets you in again, if it is still valid.", false);
}

start();
