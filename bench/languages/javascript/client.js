// One of the six clients of scripts/bench-cluster languages: JavaScript, memcached-elasticache, which finds the servers itself and
// has a hash ring of its own. What all of them do is told in bench/README.md.
'use strict';

const fs = require('fs');
const Client = require('memcached-elasticache');

const TIMEOUT_MS = 5000;
// Keys that are stored at the same time before the clients begin.
const STORED_TOGETHER = 8;
// Connections to a server: as many reads are under way when a server is slow, and one more would fail.
const CONNECTIONS_MAX = 200;

const [name, endpoint, path, ...numbers] = process.argv.slice(2);
const [keys, valueBytes, rate, partMs, pollMs] = numbers.map(Number);

// Of each key, the version given to it last, the last one whose write was acknowledged, and whether one is being written.
const given = new Array(keys).fill(0);
const acknowledged = new Array(keys).fill(0);
const isWritten = new Array(keys).fill(false);

const parts = [];
const client = new Client(endpoint, { autoDiscoverInterval: pollMs, timeout: TIMEOUT_MS, poolSize: CONNECTIONS_MAX });

function partAt(at) {
  while (parts.length <= at) {
    parts.push({ reads: 0, hits: 0, updates: 0, wrong: 0, stale: 0, failed: 0, latencies: [] });
  }
  return parts[at];
}

function microseconds() {
  return Math.round(Number(process.hrtime.bigint() / 1000n));
}

function keyOf(number) {
  return `${name}:${number}`;
}

// Stores the key's next version; whether that was acknowledged. The client has many connections, which would let a write overtake
// another one of the same key: a key that is being written is left alone.
function store(number) {
  if (isWritten[number]) {
    return Promise.resolve(true);
  }
  isWritten[number] = true;
  const version = ++given[number];
  const value = `${keyOf(number)} ${version} `.padEnd(valueBytes, '.');
  return new Promise((resolve) => {
    client.set(keyOf(number), value, 0, (error, isStored) => {
      isWritten[number] = false;
      if (error) {
        console.error(`${name}: set: ${error}`);
      } else if (isStored) {
        acknowledged[number] = version;
      }
      resolve(!error && isStored);
    });
  });
}

// Counts a value that nobody has stored under this key, and one that is older than what was acknowledged when it was asked for.
function judge(part, number, value, least) {
  const [, version, dots] = /^\S+ (\d+) (\.*)$/.exec(value) || [];
  const isRight = dots !== undefined && value.length === valueBytes && value.startsWith(`${keyOf(number)} `)
    && Number(version) <= given[number];
  part.wrong += isRight ? 0 : 1;
  part.stale += isRight && Number(version) < least ? 1 : 0;
}

async function storeInto(part, number) {
  const isStored = await store(number);
  part.failed += isStored ? 0 : 1;
}

function read(part, number, startUs) {
  part.reads++;
  const least = acknowledged[number];
  return new Promise((resolve) => {
    // An async function would be no function to this client.
    client.get(keyOf(number), (error, value) => {
      if (error) {
        console.error(`${name}: get: ${error}`);
        part.failed++;
        return resolve();
      }
      part.latencies.push(microseconds() - startUs);
      if (value === undefined) {
        return resolve(storeInto(part, number));
      }
      part.hits++;
      judge(part, number, value, least);
      resolve();
    });
  });
}

async function update(part, number) {
  part.updates++;
  await storeInto(part, number);
}

// Operations are begun when they are due, whatever is under way.
function run(operations) {
  const startUs = microseconds();
  const underWay = [];
  let index = 0;
  return new Promise((resolve) => {
    function begin() {
      // Who had time to sleep is not charged with a timer that was late; timers count in whole milliseconds.
      let hasSlept = true;
      while (index < operations.length) {
        const dueUs = startUs + index * 1e6 / rate;
        if (dueUs > microseconds()) {
          setTimeout(begin, (dueUs - microseconds()) / 1000);
          return;
        }
        const fromUs = hasSlept ? microseconds() : dueUs;
        hasSlept = false;
        const [kind, number] = operations[index].split(' ');
        const part = partAt(Math.floor(index * 1000 / rate / partMs));
        underWay.push(kind === 'u' ? update(part, Number(number)) : read(part, Number(number), fromUs));
        index++;
      }
      Promise.all(underWay).then(resolve);
    }
    begin();
  });
}

async function prepare() {
  await new Promise((resolve) => client.once('autoDiscover', resolve));
  for (let first = 0; first < keys; first += STORED_TOGETHER) {
    const some = Array.from({ length: Math.min(STORED_TOGETHER, keys - first) }, (_, at) => store(first + at));
    if (!(await Promise.all(some)).every(Boolean)) {
      throw new Error('not all keys could be stored');
    }
  }
}

async function main() {
  const operations = fs.readFileSync(path, 'ascii').trimEnd().split('\n');
  client.on('autoDiscover', (nodes) => console.log(`servers ${nodes.length}`));
  client.on('autoDiscoverFailure', (error) => console.error(`${name}: discovery: ${error}`));
  await prepare();
  console.log('ready');
  await new Promise((resolve) => process.stdin.once('data', resolve));
  await run(operations);
  const lines = parts.map((part) => ['part', part.reads, part.hits, part.updates, part.wrong, part.stale, part.failed,
    ...part.latencies.map(Math.round)].join(' '));
  process.stdout.write([...lines, 'end', ''].join('\n'), () => process.exit(0));
}

main().catch((error) => {
  console.error(`${name}: ${error}`);
  process.exit(1);
});
