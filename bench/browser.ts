import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as z from 'zod'
import { findEngine } from '../packages/fleet/src/sandbox/engine/find-engine.ts'
import { openTestBrowser } from '../tests/docker/browser-lane.ts'
import type { TestBrowser } from '../tests/docker/browser-lane.ts'
import type { Bench, BenchReport } from './bench.ts'
import { rotated } from './bench.ts'
import { median, pairedRatio, percentile } from './statistics.ts'
import { figure, mega, ratio } from './table.ts'

const page = 'http://shop.test/form'
/** A page with 5,000 entries with one link each. */
const manyNodes = 'http://shop.test/many'
const snapshotMaxMs = 120_000

/** Measurements of one browser from its start to its end. */
interface Life {
  /** From the request to the snapshot of a small page, milliseconds. */
  readonly launchMs: number
  /** Time for the page with 10,000 nodes, milliseconds. */
  readonly snapshotMs: number
  /** Memory with the small page, above what the container used before; without the kernel's file cache. */
  readonly memoryBytes: number
}

/**
 * Cold: the first start in a new container. Warm: the next start in the same container, from the stored profile.
 */
const kinds = ['cold', 'warm'] as const
type Kind = (typeof kinds)[number]
const contenders = ['playwright-core, headless', 'the service, with a screen'] as const
type Contender = (typeof contenders)[number]

export const browserBench: Bench = {
  name: 'browser',
  claim: 'launch, snapshot and memory of an agent’s browser, beside plain playwright-core in its container',
  defaultRuns: 5,
  run: async ({ runs, progress, signal }) => {
    const found = await findEngine({
      uid: process.getuid?.() ?? -1,
      engineSocket: process.env['FLOTILLA_ENGINE_SOCKET'],
      dockerHost: process.env['DOCKER_HOST'],
    })
    if (found.engine === null) throw new Error(`no container engine answers (${found.tried.join('; ')})`)
    progress('making the image of browsers ready')
    const browser = await openTestBrowser(found.engine)
    const lives = new Map(
      contenders.flatMap((name) => kinds.map((kind) => [keyOf(name, kind), [] as Life[]] as const)),
    )
    try {
      const plain = await plainIn(browser)
      for (let round = 0; round < runs && !signal.aborted; round += 1) {
        progress(`round ${round + 1} of ${runs}`)
        for (const name of rotated(contenders, round)) {
          await browser.restart()
          await browser.run('rm -rf /data/profile /data/tabs.json /data/plain')
          for (const kind of kinds) {
            const life = name === contenders[0] ? await plain() : await ours(browser)
            lives.get(keyOf(name, kind))?.push(life)
          }
        }
      }
      return reportOf(lives, runs)
    } finally {
      await browser.close()
    }
  },
}

const keyOf = (name: Contender, kind: Kind): string => `${name}, ${kind}`

async function ours(browser: TestBrowser): Promise<Life> {
  const before = await usedIn(browser)
  const launchMs = await timed(async () => {
    await browser.act('navigate', { url: page })
    await browser.act('snapshot', {})
  })
  const memoryBytes = (await usedIn(browser)) - before
  await browser.act('navigate', { url: manyNodes })
  const snapshotMs = await timed(() => browser.act('snapshot', {}, snapshotMaxMs))
  await browser.post('/close')
  return { launchMs, snapshotMs, memoryBytes }
}

const plainSchema = z.object({
  launchMs: z.number(),
  snapshotMs: z.number(),
  before: z.string(),
  after: z.string(),
})

/** Installs a program that uses playwright-core alone; the container's own service is idle meanwhile. */
async function plainIn(browser: TestBrowser): Promise<() => Promise<Life>> {
  const program = (await readFile(join(import.meta.dirname, 'plain-browser.cjs'))).toString('base64')
  const asked = JSON.stringify({
    server: `http://${browser.network.gateway}:${browser.proxy.port}`,
    password: browser.proxyToken,
    page,
    many: manyNodes,
    profile: '/data/plain',
  })
  return async () => {
    const { code, text } = await browser.run(
      `echo ${program} | base64 -d > /tmp/plain.cjs && HOME=/data NODE_PATH=/opt/flotilla/node_modules node /tmp/plain.cjs '${asked}'`,
    )
    if (code !== 0) throw new Error(`playwright-core alone ended with ${code}: ${text.slice(-400)}`)
    const told = plainSchema.parse(JSON.parse(text.split('\n').at(-1) ?? ''))
    const { launchMs, snapshotMs, before, after } = told
    return { launchMs, snapshotMs, memoryBytes: usedOf(after) - usedOf(before) }
  }
}

async function usedIn(browser: TestBrowser): Promise<number> {
  const { text } = await browser.run(
    'cat /sys/fs/cgroup/memory/memory.stat 2>/dev/null || cat /sys/fs/cgroup/memory.stat',
  )
  return usedOf(text)
}

/** Memory of processes, with shared memory, from the statistics of either cgroup version. Pure. */
function usedOf(statistics: string): number {
  const of = (name: string): number => Number(new RegExp(`^${name} (\\d+)`, 'm').exec(statistics)?.[1] ?? 0)
  return of('anon') > 0 ? of('anon') + of('shmem') : of('total_rss') + of('total_shmem')
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}

function reportOf(lives: ReadonlyMap<string, readonly Life[]>, runs: number): BenchReport {
  const of = (name: Contender, kind: Kind, part: keyof Life) =>
    (lives.get(keyOf(name, kind)) ?? []).map((life) => life[part])
  const rows = kinds.flatMap((kind) =>
    contenders.map((name) => {
      const part = (which: keyof Life) => of(name, kind, which)
      const beside = (which: keyof Life) => ratio(pairedRatio(part(which), of(contenders[0], kind, which)))
      return [
        keyOf(name, kind),
        figure(median(part('launchMs')), 0),
        figure(percentile(part('launchMs'), 90), 0),
        beside('launchMs'),
        figure(median(part('snapshotMs')), 0),
        beside('snapshotMs'),
        mega(median(part('memoryBytes'))),
        beside('memoryBytes'),
      ]
    }),
  )
  return {
    tables: [
      {
        title: `The browser of an agent, ${runs} rounds`,
        columns: ['', 'first snapshot', 'p90', 'of plain', '10,000 nodes', 'of plain', 'MB', 'of plain'],
        rows,
        notes: [
          'ms, medians of interleaved rounds; ratios within the round. Both are Debian’s Chromium in its own sandbox, in the same container of 2 GB and one processor, through the same proxy.',
          'Cold is the first launch in a new container with an empty profile, warm the next in the same one from the profile of the first. The service brings a display that people watch, a window manager and Chromium’s window; playwright-core alone has none, and its snapshot is all of the page, where the service gives the first 200 elements numbered, with fields checked for content to hide.',
        ],
      },
    ],
    figures: { lives: Object.fromEntries(lives) },
  }
}
