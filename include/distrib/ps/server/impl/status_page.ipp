// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/server/status_page.hpp>

#include <distrib/core/json_text.hpp>
#include <distrib/ps/wire/status_object.hpp>

#include <algorithm>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto status_page() -> std::string_view {
  return R"html(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'">
<title>job</title>
<style>
:root { --paper: #fff; --ink: #1b1f24; --faint: #667080; --line: #d8dde3; --good: #1a7f4b; --late: #b26a00; --bad: #c2263b; --bar: #2463b4; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #14171b; --ink: #e6e9ed; --faint: #97a1ae; --line: #333a43; --good: #46b97c; --late: #e0a03c; --bad: #f0667a; --bar: #6aa4ee; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 70rem; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0; font-variant-numeric: tabular-nums; }
h2 { font-size: 1rem; margin: 1.6rem 0 .4rem; }
p { margin: .3rem 0; }
.faint { color: var(--faint); }
.bad { color: var(--bad); }
.bar { height: .6rem; border: 1px solid var(--line); border-radius: .3rem; overflow: hidden; margin: .6rem 0; }
.bar div { height: 100%; background: var(--bar); width: 0; }
.facts { display: flex; flex-wrap: wrap; gap: .2rem 1.6rem; }
.facts b { font-variant-numeric: tabular-nums; }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr)); gap: 0 2rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .15rem .8rem .15rem 0; white-space: nowrap; border-bottom: 1px solid var(--line); }
th { font-weight: 600; color: var(--faint); }
th:first-child, td:first-child { text-align: left; }
canvas { display: block; width: 100%; }
[hidden] { display: none !important; }
ul { list-style: none; margin: 0; padding: 0; }
li { overflow-wrap: anywhere; border-bottom: 1px solid var(--line); padding: .15rem 0; }
.key i { display: inline-block; width: .8em; height: .8em; margin: 0 .3em 0 1em; vertical-align: -.05em; }
.key i:first-child { margin-left: 0; }
</style>
</head>
<body>
<h1 id="step">…</h1>
<div class="bar" role="progressbar" id="bar"><div></div></div>
<p class="facts" id="facts"></p>
<p class="faint" id="job"></p>
<p class="bad" id="trouble" role="status"></p>
<canvas id="speed" height="60" aria-label="steps per second, the last five minutes"></canvas>
<p class="faint" id="speed_said"></p>
<div class="columns">
<section>
<h2>Workers</h2>
<p class="key faint" id="key"></p>
<canvas id="ranks" aria-label="a cell for each rank"></canvas>
<p class="faint" id="rank"> </p>
</section>
<section>
<h2>Who was waited for</h2>
<p class="faint" id="waited_said"></p>
<div class="wide"><table id="waited"></table></div>
</section>
</div>
<h2>Shards</h2>
<div class="wide"><table id="shards"></table></div>
<div id="tasks" hidden><h2>Processes</h2><div class="wide"><table id="processes"></table></div></div>
<h2>Events</h2>
<ul id="events"></ul>
<script>
'use strict';
const at = id => document.getElementById(id);
const WINDOW = 60, SPEEDS = 300;  // seconds
let before = null, cutStep = -1, cutSeen = 0, speeds = [], looks = [], cells = null, lastGood = Date.now();

const whole = n => Math.round(n).toLocaleString('en');
const bytes = n => {
  for (const unit of ['B', 'KiB', 'MiB', 'GiB']) { if (n < 1000) return (n < 10 && unit !== 'B' ? n.toFixed(1) : Math.round(n)) + ' ' + unit; n /= 1024; }
  return n.toFixed(1) + ' TiB';
};
const time = s => s < 0.001 ? Math.round(s * 1e6) + ' us' : s < 1 ? (s * 1e3).toFixed(1) + ' ms' : s.toFixed(1) + ' s';
const long = s => s < 90 ? Math.round(s) + ' s' : s < 5400 ? Math.round(s / 60) + ' min' : (s / 3600).toFixed(1) + ' h';
const color = name => getComputedStyle(document.documentElement).getPropertyValue('--' + name);

function table(id, head, rows) {
  const body = at(id);
  body.replaceChildren();
  for (const [i, row] of [head, ...rows].entries()) {
    const line = body.insertRow();
    for (const text of row) {
      const cell = i === 0 ? line.appendChild(document.createElement('th')) : line.insertCell();
      cell.textContent = text;
    }
  }
}

// Fits a canvas to its width on the screen; returns what draws on it.
function canvas(id, height) {
  const c = at(id), ratio = devicePixelRatio || 1, width = c.clientWidth || 300;
  c.style.height = height + 'px';
  c.width = width * ratio;
  c.height = height * ratio;
  const to = c.getContext('2d');
  to.scale(ratio, ratio);
  return [to, width];
}

// A rank is late if others have sent a newer contribution: in a synchronous job they wait for it. Nobody waits for a
// rank that looks on.
function ranksOf(shard) {
  const of = shard.rank_columns, idle = i => of.looks_on && of.looks_on[i];
  const newest = of.last.reduce((most, last, i) => idle(i) ? most : Math.max(most, last), 0);
  const slack = /^bulk/.test(shard.consistency) ? 0 : Math.max(10, newest / 10);
  return of.rank.map((rank, i) => {
    const last = of.last[i], behind = idle(i) ? 0 : newest - last, here = Boolean(of.here[i]);
    return {rank, here, last, behind, looks_on: idle(i), worker: of.worker ? of.worker[i] : null, was_last: of.was_last[i], waited: of.waited_ms[i] / 1e3,
      state: idle(i) ? 'idle' : !here ? 'away' : behind > slack ? 'late' : 'here'};
  });
}

// Shows which ranks a job waits for now, and which it has waited for in the last minute. The server counts, for each step,
// which rank was the last and how long it was missing alone.
function showWaits(shard, ranks, live) {
  const of = shard.rank_columns, last = looks[looks.length - 1];
  if (last && (shard.uptime_seconds < last.uptime || ranks.length !== last.steps.length)) looks = [];  // started again
  looks.push({uptime: shard.uptime_seconds, waited: of.waited_ms, steps: of.was_last});
  looks = looks.filter(one => shard.uptime_seconds - one.uptime <= WINDOW);
  const from = live ? looks[0] : {uptime: 0, waited: [], steps: []}, seconds = shard.uptime_seconds - from.uptime;
  const missing = ranks.filter(rank => rank.state === 'late' || rank.state === 'away');
  const names = missing.slice(0, 5).map(rank => rank.rank).join(', ') + (missing.length > 5 ? ' …' : '');
  const bulk = /^bulk/.test(shard.consistency), some = `rank${missing.length > 1 ? 's' : ''} ${names}`;
  const now = !missing.length ? '' : !bulk ? `Behind the others: ${some}. ` : shard.waits_for_seconds < 1 ? '' :
    `Now ${some} missing, nothing has come for ${time(shard.waits_for_seconds)}. `;
  const waits = ranks.map((rank, i) => [rank, (of.waited_ms[i] - (from.waited[i] || 0)) / 1e3, of.was_last[i] - (from.steps[i] || 0)]);
  const most = waits.filter(([, , steps]) => steps > 0).sort((a, b) => b[1] - a[1] || b[2] - a[2] || a[0].rank - b[0].rank).slice(0, 5);
  at('waited_said').textContent = now + (!bulk ? 'Only in a synchronous job a step waits for all ranks.' :
    !most.length ? 'Nobody yet.' : `In ${live ? 'the last ' + long(seconds) : long(seconds) + ' since this server was started'}:`);
  table('waited', most.length ? ['rank', 'missing alone', 'of the time', 'steps'] : [], most.map(([rank, waited, steps]) =>
    [rank.rank + (rank.worker === null ? '' : `, worker ${rank.worker}`), time(waited), Math.round(100 * waited / Math.max(seconds, 1e-9)) + ' %', whole(steps)]));
}

function drawRanks(ranks) {
  const count = ranks.length, width = at('ranks').clientWidth || 300;
  const side = Math.max(4, Math.min(28, Math.floor(Math.sqrt(width * 260 / Math.max(1, count)))));
  const columns = Math.max(1, Math.floor(width / side));
  const [to] = canvas('ranks', Math.max(1, Math.ceil(count / columns)) * side);
  const colors = {here: color('good'), late: color('late'), away: color('bad'), idle: color('line')}, gap = side > 6 ? 2 : 1;
  ranks.forEach((rank, i) => {
    const x = i % columns * side, y = Math.floor(i / columns) * side, size = side - gap;
    to.fillStyle = to.strokeStyle = colors[rank.state];
    if (rank.state === 'here' || rank.state === 'idle') to.fillRect(x, y, size, size);
    else if (rank.state === 'late') to.fillRect(x, y + size / 2, size, size / 2);
    if (rank.state !== 'here') to.strokeRect(x + .5, y + .5, size - 1, size - 1);
    if (side >= 24) { to.fillStyle = color(rank.state === 'here' ? 'paper' : 'ink'); to.font = '11px system-ui'; to.fillText(rank.rank, x + 4, y + 15); }
  });
  cells = {ranks, side, columns};
  const number = state => ranks.filter(rank => rank.state === state).length;
  at('key').replaceChildren();
  for (const [state, text] of [['here', 'here'], ['late', 'behind the others'], ['away', 'away'], ['idle', 'not in this step']]) {
    if (state === 'idle' && !number(state)) continue;
    const box = document.createElement('i');
    box.style.border = '1px solid ' + colors[state];
    box.style.background = state === 'here' || state === 'idle' ? colors[state] : state === 'late' ? `linear-gradient(transparent 50%, ${colors[state]} 50%)` : 'none';
    at('key').append(box, `${whole(number(state))} ${text}`);
  }
}
at('ranks').addEventListener('pointermove', e => {
  if (!cells) return;
  const rank = cells.ranks[Math.floor(e.offsetY / cells.side) * cells.columns + Math.floor(e.offsetX / cells.side)];
  at('rank').textContent = !rank ? ' ' : `rank ${rank.rank}: ${rank.here ? 'here' : 'away'}, last contribution ${whole(rank.last)}` +
    (rank.behind ? `, ${whole(rank.behind)} behind` : '') + (rank.worker === null ? '' : `, served by worker ${rank.worker}`) + (rank.looks_on ? ', makes no contribution to this step' : '') +
    (rank.was_last ? `, was the last in ${whole(rank.was_last)} steps, which waited ${time(rank.waited)} for it` : '');
});

function drawSpeed(now) {
  const [to, width] = canvas('speed', 60);
  const shown = speeds.filter(([when]) => now - when < SPEEDS * 1e3);
  const most = Math.max(1e-9, ...shown.map(([, speed]) => speed));
  to.strokeStyle = color('bar');
  to.lineWidth = 1.5;
  to.beginPath();
  for (const [i, [when, speed]] of shown.entries()) to[i ? 'lineTo' : 'moveTo'](width * (1 - (now - when) / (SPEEDS * 1e3)), 57 - 52 * speed / most);
  to.stroke();
  at('speed').hidden = shown.length < 2;
  at('speed_said').textContent = shown.length < 2 ? '' : `steps per second, the last five minutes; at most ${most.toFixed(1)}`;
}

function show(data, live) {
  const now = Date.now(), shards = data.shards.filter(shard => shard.open), first = shards[0];
  const earlier = shard => before && before.find(one => one.task === shard.task && one.shard === shard.shard && one.uptime_seconds < shard.uptime_seconds);
  const rate = (shard, of) => { const old = earlier(shard); return old ? Math.max(0, of(shard) - of(old)) / (shard.uptime_seconds - old.uptime_seconds) : NaN; };
  const said = (n, text) => Number.isFinite(n) ? text(n) : '–';

  if (!first) {
    at('step').textContent = data.shards.length ? 'No job yet' : 'No parameter server answers';
    at('job').textContent = data.shards.length ? 'A worker sends the job; or the shards still read their cuts.' : '';
  } else {
    const endless = first.total_steps > 2 ** 53;
    const unit = /^asynchronous|^stale/.test(first.consistency) ? 'contribution' : 'step';
    at('step').textContent = `${unit[0].toUpperCase() + unit.slice(1)} ${whole(first.step)}` + (endless ? '' : ` of ${whole(first.total_steps)}`);
    at('bar').hidden = endless;
    at('bar').firstElementChild.style.width = endless ? 0 : 100 * first.step / Math.max(1, first.total_steps) + '%';
    at('bar').setAttribute('aria-valuenow', endless ? 0 : Math.round(100 * first.step / Math.max(1, first.total_steps)));
    const speed = rate(first, shard => shard.step);
    if (Number.isFinite(speed)) speeds.push([now, speed]);
    speeds = speeds.filter(([when]) => now - when < SPEEDS * 1e3);
    const recent = speeds.slice(-10), mean = recent.reduce((sum, [, one]) => sum + one, 0) / recent.length;
    const cut = Math.min(...shards.map(shard => shard.newest_cut));
    if (cut !== cutStep) { cutStep = cut; cutSeen = before ? now : 0; }
    const facts = [];
    if (Number.isFinite(mean)) facts.push([mean.toFixed(1), unit + 's per second']);
    if (mean > 0 && !endless) facts.push([long((first.total_steps - first.step) / mean), 'left']);
    facts.push([whole(first.step - cut), `${unit}s since the newest cut` + (cutSeen ? `, ${long((now - cutSeen) / 1e3)} old` : '')]);
    facts.push([bytes(shards.reduce((sum, shard) => sum + shard.value_bytes + shard.slot_bytes, 0)), 'of variables']);
    if (first.stale) facts.push([whole(first.stale), 'contributions came too late']);
    if (first.vacant) facts.push([whole(first.vacant), `rank${first.vacant === 1 ? '' : 's'} without a process`]);
    if (shards.some(shard => shard.no_room)) facts.push(['No', 'room on a disk: a cut is missing']);
    at('facts').replaceChildren();
    for (const [number, what] of facts) {
      const fact = document.createElement('span'), strong = document.createElement('b');
      strong.textContent = number;
      fact.append(strong, ' ' + what);
      at('facts').append(fact);
    }
    at('job').textContent = `${first.consistency.replaceAll('_', ' ')}, ${whole(first.workers)} workers, ${whole(first.tasks)} parameter servers, job ${first.job.slice(0, 12)}` +
      (first.arithmetic ? `, computed by ${first.arithmetic}` : '') + (first.rate_factor ? `, learning rate times ${first.rate_factor}` : '');
    document.title = at('step').textContent;

    const ranks = ranksOf(first);
    drawRanks(ranks);
    showWaits(first, ranks, live);
  }

  table('shards', ['shard', 'up', 'step', 'cut', 'push p50', 'p99', 'pull p50', 'p99', 'in/s', 'out/s', 'waiting', 'held at most', 'values', 'slots'],
    data.shards.map(shard => !shard.open ? [`ps ${shard.task} shard ${shard.shard}`, long(shard.uptime_seconds), 'not open', '', '', '', '', '', '', '', '', '', '', ''] :
      [`ps ${shard.task} shard ${shard.shard}`, long(shard.uptime_seconds), whole(shard.step), whole(shard.newest_cut),
        time(shard.push_p50_seconds), time(shard.push_p99_seconds), time(shard.pull_p50_seconds), time(shard.pull_p99_seconds),
        said(rate(shard, one => one.pushed_bytes), bytes), said(rate(shard, one => one.pulled_bytes), bytes), whole(shard.parked),
        bytes(shard.most_waiting_bytes), bytes(shard.value_bytes), bytes(shard.slot_bytes)]));
  at('tasks').hidden = !data.processes;
  if (data.processes) table('processes', ['task', 'state', 'restarts'], data.processes.map(one => [one.task, one.state, one.restarts]));
  at('events').replaceChildren();
  for (const event of [...data.events].reverse().slice(0, 50)) {
    const line = document.createElement('li'), when = document.createElement('span');
    when.className = 'faint';
    when.textContent = new Date(event.at * 1e3).toLocaleTimeString('en-GB') + '  ';
    line.append(when, event.text);
    at('events').append(line);
  }
  if (!data.events.length) at('events').textContent = 'None yet.';
  drawSpeed(now);
  if (live) before = data.shards;
}

async function look() {
  const stop = new AbortController(), timer = setTimeout(() => stop.abort(), 5000);
  try {
    const answer = await fetch('status.json', {signal: stop.signal, cache: 'no-store'});
    if (!answer.ok) throw new Error('it answers ' + answer.status);
    show(await answer.json(), true);
    lastGood = Date.now();
    at('trouble').textContent = '';
  } catch (error) {
    at('trouble').textContent = `No answer for ${long((Date.now() - lastGood) / 1e3)}: the task has ended, or starts again.`;
  }
  clearTimeout(timer);
  setTimeout(look, 1000);
}

const kept = at('data');
if (kept) show(JSON.parse(kept.textContent), false);
else look();
</script>
</body>
</html>
)html";
}

DISTRIB_DECL auto status_page_of(std::string_view data) -> std::string {
  const std::string_view page = status_page();
  const std::size_t script = page.find("<script>");
  std::string text{page.substr(0, script)};
  text += R"(<script id="data" type="application/json">)";
  for (const char c : data) c == '<' ? text.append("\\u003c") : text.append(1, c);  // so that no text ends the element
  return text.append("</script>\n").append(page.substr(script));
}

DISTRIB_DECL auto status_data(std::span<const ShardStatus> shards, std::span<const StatusEvent> events,
                              std::span<const StatusProcess> processes) -> std::string {
  JsonObject data;
  const auto first = std::ranges::find_if(shards, &ShardStatus::open);
  data.add_json("shards", json_array(shards, [&](const ShardStatus& shard) {
                  const bool is_first = first != shards.end() && &shard == &*first;
                  return status_object(shard, is_first ? RankForm::columns : RankForm::none).text();
                }));
  data.add_json("events", json_array(events, [](const StatusEvent& event) {
                  const std::chrono::duration<double> since = event.at.time_since_epoch();
                  return JsonObject{}.add("at", since.count()).add("text", event.text).text();
                }));
  if (!processes.empty())
    data.add_json("processes", json_array(processes, [](const StatusProcess& process) {
                    return JsonObject{}
                        .add("task", process.task)
                        .add("state", process.state)
                        .add("restarts", process.restarts)
                        .text();
                  }));
  return data.text();
}

}  // namespace v0
}  // namespace distrib
