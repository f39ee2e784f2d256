import { mkdir, mkdtemp, rename, rm, symlink, unlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Problem } from '@flotilla/protocol/problem'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { collectEvents } from '../../../../../tests/support/collected-ports.ts'
import { heedsLesson, verifies } from '../../../../../tests/verifies.ts'
import { silentLog } from '../../../../foundation/src/platform/log.ts'
import { systemClock } from '../../../../foundation/src/platform/system-clock.ts'
import { aLedgerHarness } from '../../../../testing/src/ledger-harness.ts'
import type { LedgerHarness } from '../../../../testing/src/ledger-harness.ts'
import type { SubmitRun } from '../../../../work/src/runs/submit-run.ts'
import { createFireChange } from './fire-change.ts'
import { restWaitMaxMs } from './scan-watch.ts'
import type { ScanFolder } from './scan-folder.ts'
import { createScanThread } from './scan-thread.ts'
import { createWatchTable } from './watch-table.ts'
import { readWatchers } from './read-watchers.ts'
import { createWatchersFile } from './watchers-file.ts'
import type { WatchersFile } from './watchers-file.ts'
import { createWatches, firesPerWatchMax, scanMaxMs, fileWatcherPollMs } from './watches.ts'
import { runLimits } from '@flotilla/work/runs'

interface Options {
  readonly harness?: LedgerHarness
  readonly home?: string
  readonly scanFolder?: ScanFolder
  readonly submitRun?: (submit: SubmitRun) => SubmitRun
  readonly file?: WatchersFile
}

const thread = createScanThread({ clock: systemClock, log: silentLog })
const { scanFolder } = thread
afterAll(() => thread.close())

/** Watchers over their own folder, and a real ledger whose runs stay queued. */
async function someWatches(yaml: (inbox: string) => string, options: Options = {}) {
  const home = options.home ?? (await mkdtemp(join(tmpdir(), 'flotilla-watch-')))
  if (options.home === undefined) onTestFinished(() => rm(home, { recursive: true, force: true }))
  const inbox = join(home, 'inbox')
  await mkdir(inbox, { recursive: true })
  const path = join(home, 'watchers.yaml')
  await writeFile(path, yaml(inbox))
  const harness = options.harness ?? aLedgerHarness()
  const { database, clock, ledger } = harness
  const table = createWatchTable(database)
  const file = options.file ?? createWatchersFile(path)
  const events = collectEvents()
  const paused = new Map<string, string>()
  const fire = createFireChange({
    database,
    table,
    submitRun: (options.submitRun ?? ((submit) => submit))(ledger.queue.submitRun),
    events,
    pausedReason: (agentId) => paused.get(agentId) ?? null,
    clock,
  })
  const deps = {
    file,
    table,
    scanFolder: options.scanFolder ?? scanFolder,
    fire,
    events,
    clock,
    log: silentLog,
  }
  const watches = createWatches(deps)
  const signal = new AbortController().signal
  return {
    harness,
    home,
    inbox,
    path,
    table,
    events,
    paused,
    watches,
    put: (name: string, text = 'x') => writeFile(join(inbox, name), text),
    poll: async (times = 1) => {
      for (let count = 0; count < times; count++) await watches.poll(signal)
    },
    /** The messages of all runs, oldest first. */
    messages: () =>
      ledger.queries
        .list({ limit: 500 })
        .map(({ input }) => ('message' in input ? input.message : ''))
        .toReversed(),
  }
}

/** The same without a disk, so that the test controls the time. */
function fileOf(yaml: string): WatchersFile {
  const reading = readWatchers(yaml)
  let isRead = false
  return {
    refresh: async () => !isRead && (isRead = true),
    rules: () => (reading.ok ? reading.rules : []),
    broken: () => null,
  }
}

const watching =
  (...entries: string[]) =>
  (inbox: string) =>
    `watchers:\n${entries.map((entry) => `  - {path: ${inbox}, ${entry}}\n`).join('')}`
const csv = watching('pattern: "*.csv", agent: scout, message: "see {filename}"')
const told = (events: { bodies: readonly { type: string }[] }) =>
  events.bodies.filter(({ type }) => type !== 'watch.fired')

describe('file watchers', () => {
  test('existing files are accepted at the first scan, and later additions and changes fire', async () => {
    verifies(
      'purpose:mesh:runs-file-watchers',
      'events:file-watcher:polls',
      'events:file-watcher:first-scan-silent',
      'events:file-watcher:added-or-modified',
    )
    const { put, poll, messages, harness, inbox } = await someWatches(csv)
    await put('old.csv')
    await put('other.txt')
    await poll(3)
    expect(messages()).toEqual([])
    await put('new.csv')
    await put('new.txt')
    await poll()
    expect(messages()).toEqual([])
    await poll(3)
    expect(messages()).toEqual(['see new.csv'])
    await put('old.csv', 'longer than before')
    await poll(4)
    expect(messages()).toEqual(['see new.csv', 'see old.csv'])
    expect(harness.ledger.queries.list({ limit: 1 })[0]).toMatchObject({
      agentId: 'scout',
      origin: { kind: 'watcher', channel: 'mesh', user: `${inbox}/*.csv` },
      state: 'queued',
    })
  })

  test('a watcher waits while a file grows', async () => {
    const { put, poll, messages } = await someWatches(csv)
    await poll()
    for (let size = 1; size < 6; size++) {
      await put('big.csv', 'x'.repeat(size))
      await poll()
    }
    expect(messages()).toEqual([])
    await poll(3)
    expect(messages()).toEqual(['see big.csv'])
  })

  test('a watcher waits at most five minutes for a file that never rests, also over a restart, and then starts again', async () => {
    const harness = aLedgerHarness()
    const first = await someWatches(csv, { harness })
    await first.poll()
    let size = 0
    const grow = async (watches: typeof first, forMs: number) => {
      for (let ms = 0; ms < forMs; ms += fileWatcherPollMs) {
        await watches.put('log.csv', 'x'.repeat((size += 1)))
        await watches.poll()
        await harness.clock.advance(fileWatcherPollMs)
      }
    }
    await grow(first, restWaitMaxMs / 2)
    const second = await someWatches(csv, { harness, home: first.home })
    await grow(second, restWaitMaxMs / 2)
    expect(second.messages()).toEqual([])
    await grow(second, fileWatcherPollMs)
    expect(second.messages()).toEqual(['see log.csv'])
    await grow(second, restWaitMaxMs)
    expect(second.messages()).toHaveLength(1)
    await grow(second, 2 * fileWatcherPollMs)
    expect(second.messages()).toHaveLength(2)
    // The final state is reported too.
    await second.poll(3)
    expect(second.messages()).toHaveLength(3)
    expect(second.table.history(1)[0]?.sizeBytes).toBe(size)
  })

  test('a change that the disk refuses is stored after the next scan, so that a restart does not lose it', async () => {
    const harness = aLedgerHarness()
    const first = await someWatches(csv, { harness })
    await first.poll()
    await first.put('new.csv')
    harness.database.exec('PRAGMA query_only = ON')
    await first.poll()
    harness.database.exec('PRAGMA query_only = OFF')
    await first.put('new.csv', 'it still grows')
    await first.poll()
    expect(first.messages()).toEqual([])
    const second = await someWatches(csv, { harness, home: first.home })
    await second.poll(4)
    expect(second.messages()).toEqual(['see new.csv'])
  })

  test('two watchers over one file both fire', async () => {
    const both = watching(
      'pattern: "*.csv", agent: scout, message: "one {filename}"',
      'pattern: "a*", agent: writer, message: "two {filename}"',
      'pattern: "*.csv", agent: scout, message: "three {filename}"',
    )
    const { put, poll, messages } = await someWatches(both)
    await poll()
    await put('a.csv')
    await poll(4)
    expect(messages().toSorted()).toEqual(['one a.csv', 'three a.csv', 'two a.csv'])
  })

  test('file names are kept as they are, whatever they contain', async () => {
    const all = watching('pattern: "*", agent: scout, message: "<{filename}>"')
    const { put, poll, messages, inbox } = await someWatches(all)
    await poll()
    await put('{filepath}')
    await put('two\nlines')
    await put('hid\u200Bden')
    await writeFile(Buffer.concat([Buffer.from(`${inbox}/raw-`), Buffer.from([0xff, 0xfe])]), 'x')
    await poll(2)
    expect(messages().toSorted()).toEqual(['<hidden>', '<raw-\uFFFD\uFFFD>', '<two\nlines>', '<{filepath}>'])
  })

  test('a deleted and recreated file counts as new', async () => {
    const { put, poll, messages, inbox } = await someWatches(csv)
    await put('f.csv')
    await poll()
    await unlink(join(inbox, 'f.csv'))
    await poll()
    await put('f.csv')
    await poll(2)
    expect(messages()).toEqual(['see f.csv'])
    // The same time and size, but another file, whose absence was not seen.
    const when = new Date(1_700_000_000_000)
    await utimes(join(inbox, 'f.csv'), when, when)
    await poll(2)
    // File times are as coarse as the kernel's clock.
    await new Promise((resolve) => setTimeout(resolve, 20))
    await put('.next')
    await utimes(join(inbox, '.next'), when, when)
    await rename(join(inbox, '.next'), join(inbox, 'f.csv'))
    await poll(2)
    expect(messages()).toHaveLength(3)
  })

  test('a watcher follows no link, enters no folder and opens no pipe', async () => {
    const { put, poll, messages, inbox, home } = await someWatches(csv)
    await poll()
    await mkdir(join(home, 'outside'))
    await writeFile(join(home, 'outside', 'secret.csv'), 'x')
    await symlink(join(home, 'outside', 'secret.csv'), join(inbox, 'link.csv'))
    await symlink(join(home, 'outside'), join(inbox, 'folder.csv'))
    await mkdir(join(inbox, 'deep.csv'))
    await put('plain.csv')
    await poll(2)
    await writeFile(join(home, 'outside', 'secret.csv'), 'changed')
    await poll(3)
    expect(messages()).toEqual(['see plain.csv'])
  })

  test('a watcher evaluates the condition with every documented field', async () => {
    const when = watching(
      `pattern: "*", agent: scout, message: "{filename}", when: 'size_bytes > 2 and filename matches "^a" and filepath contains "inbox" and change == "added"'`,
    )
    const { put, poll, messages, watches } = await someWatches(when)
    await poll()
    await put('small-a')
    await put('a1', 'long')
    await put('b1', 'long')
    await put('a2', '1')
    await poll(2)
    expect(messages()).toEqual(['a1'])
    await put('a1', 'longer')
    await poll(3)
    expect(messages()).toEqual(['a1'])
    expect(watches.active()[0]).toMatchObject({ fired: 1, passedOver: 4 })
    expect(watches.active()[0]?.seen.waiting).toBe(0)
  })
})

describe('the watchers file', () => {
  test('the watchers file is read again when it changes, and a new entry starts with a silent scan', async () => {
    const { put, poll, messages, path, inbox } = await someWatches(csv)
    await put('a.csv')
    await put('a.txt')
    await poll(2)
    await writeFile(
      path,
      `${csv(inbox)}  - {path: ${inbox}, pattern: "*.txt", agent: w, message: "t {filename}"}\n`,
    )
    await put('b.csv')
    await poll(2)
    await put('b.txt')
    await poll(2)
    expect(messages()).toEqual(['see b.csv', 't b.txt'])
  })

  test('a broken watchers file keeps the last valid set and reports the line once', async () => {
    const { put, poll, messages, path, inbox, events } = await someWatches(csv)
    await poll()
    await writeFile(path, 'watchers:\n  - path: [')
    await put('a.csv')
    await poll(3)
    expect(messages()).toEqual(['see a.csv'])
    expect(told(events)).toEqual([
      { type: 'watchers.broken', detail: expect.stringMatching(/^config\/watchers\.yaml line 2: /) },
    ])
    await writeFile(path, csv(inbox).replace('see', 'behold'))
    await put('b.csv')
    await poll(2)
    expect(messages()).toEqual(['see a.csv', 'behold b.csv'])
  })
})

describe('a watched folder', () => {
  test('a missing folder is reported once, and files that come with it are new', async () => {
    const { put, poll, messages, inbox, events } = await someWatches(csv)
    await rm(inbox, { recursive: true })
    await poll(3)
    await mkdir(inbox)
    await put('a.csv')
    await poll(3)
    expect(messages()).toEqual(['see a.csv'])
    expect(told(events).map(({ type }) => type)).toEqual(['watch.troubled', 'watch.recovered'])
  })

  test('a folder that goes away and returns with the same files fires nothing', async () => {
    const { put, poll, messages, inbox } = await someWatches(csv)
    await put('a.csv')
    await poll()
    await rename(inbox, `${inbox}-away`)
    await poll(2)
    await rename(`${inbox}-away`, inbox)
    await put('b.csv')
    await poll(3)
    expect(messages()).toEqual(['see b.csv'])
  })

  test('an unreadable folder is reported once, and its first scan is still pending', async () => {
    const state: { broken: boolean } = { broken: true }
    const failing: ScanFolder = async (path, scan) =>
      state.broken ? { kind: 'unreadable', reason: 'EACCES' } : scanFolder(path, scan)
    const { put, poll, messages, events } = await someWatches(csv, { scanFolder: failing })
    await put('a.csv')
    await poll(3)
    expect(told(events)).toMatchObject([
      { type: 'watch.troubled', detail: expect.stringContaining('EACCES') },
    ])
    state.broken = false
    await poll(2)
    await put('b.csv')
    await poll(2)
    expect(messages()).toEqual(['see b.csv'])
  })

  test('a folder that is a file is unreadable until it is a folder', async () => {
    const { put, poll, inbox, messages, watches } = await someWatches(csv)
    await rm(inbox, { recursive: true })
    await writeFile(inbox, '')
    await poll()
    expect(watches.active()[0]?.trouble).toMatch(/cannot be read: .*ENOTDIR/)
    await rm(inbox)
    await mkdir(inbox)
    await put('there.csv')
    await poll()
    await put('new.csv')
    await poll(2)
    expect(messages()).toEqual(['see new.csv'])
  })

  test('a folder that does not respond delays no other watch, and is scanned once at a time', async () => {
    let looks = 0
    const files = new Set<string>()
    const half: ScanFolder = async (path, { each }) => {
      if (path === '/hung' && ++looks > 0) return new Promise(() => {})
      for (const name of files) each(name, { modifiedMs: 1, changedMs: 1, sizeBytes: 1, inode: 1 })
      return { kind: 'whole', leftOut: false }
    }
    const yaml = `watchers:\n${['hung', 'well'].map((path) => `  - {path: /${path}, pattern: "*", agent: scout, message: "see {filename}"}\n`).join('')}`
    const { watches, messages, harness, events } = await someWatches(() => yaml, {
      scanFolder: half,
      file: fileOf(yaml),
    })
    const closing = new AbortController()
    const running = watches.run(closing.signal)
    await harness.clock.advance(scanMaxMs)
    files.add('a')
    await harness.clock.advance(20_000)
    expect(messages()).toEqual(['see a'])
    expect(looks).toBe(1)
    expect(watches.counts().skipped).toBeGreaterThan(10)
    expect(JSON.stringify(events.bodies)).toContain('has not answered for 60 s')
    closing.abort()
    await running
  })
})

describe('the polls of watchers', () => {
  test('polls are 5 seconds apart, whatever the settings, and never overlap', async () => {
    verifies('events:file-watcher:interval', 'events:file-watcher:interval-fixed', 'limits:file-watcher-poll')
    const looks: number[] = []
    let atOnce = 0
    const slow: ScanFolder = async () => {
      expect(++atOnce).toBe(1)
      looks.push(harness.clock.now())
      if (looks.length === 3) await harness.clock.sleep(12_000)
      atOnce--
      return { kind: 'whole', leftOut: false }
    }
    const harness = aLedgerHarness()
    const { watches } = await someWatches(csv, { harness, scanFolder: slow, file: fileOf(csv('/in')) })
    const closing = new AbortController()
    const running = watches.run(closing.signal)
    const begun = harness.clock.now()
    for (let second = 0; second < 40; second++) await harness.clock.advance(1000)
    expect(looks.map((at) => at - begun)).toEqual([0, 5000, 10_000, 25_000, 30_000, 35_000, 40_000])
    expect(watches.counts()).toMatchObject({ skipped: 2, longestMs: 12_000 })
    expect(readWatchers(`interval: 1\n${csv('/in')}`)).toMatchObject({ ok: false, line: 1 })
    closing.abort()
    await running
  })

  test('a poll starts a limited number of runs, and the next ones the rest', async () => {
    const { put, poll, messages } = await someWatches(csv)
    await poll()
    for (let file = 0; file < 45; file++) await put(`${file}.csv`)
    await poll(2)
    expect(messages()).toHaveLength(firesPerWatchMax)
    await poll()
    expect(messages()).toHaveLength(2 * firesPerWatchMax)
    await poll(2)
    expect(new Set(messages()).size).toBe(45)
  })

  test('a full lane loses no change and is reported once', async () => {
    const { put, poll, messages, harness, events, watches } = await someWatches(csv)
    await poll()
    for (let run = 0; run < runLimits.laneQueueMax - 1; run++) harness.chat('scout', 'fill')
    await put('a.csv')
    await put('b.csv')
    await poll(4)
    const saw = () => messages().filter((message) => message.startsWith('see'))
    expect(saw()).toHaveLength(1)
    expect(watches.active()[0]).toMatchObject({ held: 'the lane of scout is full' })
    expect(told(events)).toMatchObject([{ type: 'watch.troubled' }])
    const [queued] = harness.ledger.queries
      .list({ limit: 500 })
      .filter(({ input }) => JSON.stringify(input).includes('fill'))
    harness.ledger.lifecycle.cancelRun({ kind: 'human', role: 'owner', channel: 'cli' }, queued?.id ?? '')
    await poll(2)
    expect(saw().toSorted()).toEqual(['see a.csv', 'see b.csv'])
    expect(told(events).map(({ type }) => type)).toEqual(['watch.troubled', 'watch.recovered'])
  })

  test('a change for a missing, archived or paused agent waits and then fires once', async () => {
    heedsLesson(81)
    const refused: { code: 'unknown-agent' | 'agent-archived' | null } = { code: 'unknown-agent' }
    const { put, poll, messages, watches, paused } = await someWatches(csv, {
      submitRun: (submit) => (caller, run) => {
        if (refused.code) throw new Problem(refused.code)
        return submit(caller, run)
      },
    })
    await poll()
    await put('a.csv')
    await poll(3)
    expect(watches.active()[0]?.held).toBe('there is no agent scout')
    refused.code = 'agent-archived'
    await poll()
    expect(watches.active()[0]?.held).toBe('agent scout is archived')
    refused.code = null
    paused.set('scout', 'agent scout is paused')
    for (const text of ['1', '22', '333']) {
      await put('a.csv', text)
      await poll()
    }
    expect(messages()).toEqual([])
    paused.clear()
    await poll(3)
    expect(messages()).toEqual(['see a.csv'])
  })
})

describe('watchers after a crash', () => {
  test('noticed changes fire once after a crash, and files that are new at start are accepted silently', async () => {
    const first = await someWatches(csv)
    await first.poll()
    await first.put('noticed.csv')
    await first.poll()
    await first.put('meanwhile.csv')
    const { harness, home } = first
    const second = await someWatches(csv, { harness, home })
    await second.poll(4)
    expect(second.messages()).toEqual(['see noticed.csv'])
    const third = await someWatches(csv, { harness, home })
    await third.poll(4)
    expect(third.messages()).toEqual(['see noticed.csv'])
    expect(third.table.noticedCount()).toBe(0)
    expect(third.table.history(10)).toMatchObject([
      { agentId: 'scout', change: 'added', runId: 'run_1', filepath: `${first.inbox}/noticed.csv` },
    ])
  })

  test('a crash during firing leaves everything or nothing', async () => {
    const first = await someWatches(csv, {
      submitRun: (submit) => (caller, run) => {
        submit(caller, run)
        throw new Error('the power is gone')
      },
    })
    await first.poll()
    await first.put('a.csv')
    await first.poll(3)
    expect(first.messages()).toEqual([])
    expect(first.table.history(10)).toEqual([])
    const second = await someWatches(csv, { harness: first.harness, home: first.home })
    await second.poll(3)
    expect(second.messages()).toEqual(['see a.csv'])
  })

  test('changes of removed watches and deleted files are forgotten', async () => {
    const { put, poll, inbox, path, table } = await someWatches(csv)
    await poll()
    await put('a.csv')
    await put('b.csv')
    await poll()
    expect(table.noticedCount()).toBe(2)
    await unlink(join(inbox, 'b.csv'))
    await poll()
    expect(table.noticedCount()).toBe(0)
    await put('c.csv')
    await poll()
    expect(table.noticedCount()).toBe(1)
    await writeFile(path, 'watchers: []\n')
    await poll()
    expect(table.noticedCount()).toBe(0)
  })

  test('a file of a folder that was away fires again if the rule has a different message', async () => {
    const { put, poll, messages, home, inbox, path, watches } = await someWatches(csv)
    await poll()
    await put('a.csv')
    await poll(3)
    const comeBack = async (): Promise<void> => {
      await rename(inbox, join(home, 'aside'))
      await mkdir(inbox)
      await poll(2)
      await rm(inbox, { recursive: true })
      await rename(join(home, 'aside'), inbox)
      await poll(4)
    }
    await comeBack()
    expect(messages()).toEqual(['see a.csv'])
    await writeFile(path, watching('pattern: "*.csv", agent: scout, message: "read {filename}"')(inbox))
    await comeBack()
    expect(messages()).toEqual(['see a.csv', 'read a.csv'])
    expect(watches.active()[0]).toMatchObject({ held: null, waiting: 0 })
  })
})
