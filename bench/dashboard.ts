import { existsSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { FleetEventBody } from '@flotilla/protocol/fleet-event'
import { chromium } from 'playwright-core'
import type { Browser } from 'playwright-core'
import type { Bench, BenchOptions } from './bench.ts'
import { rotated } from './bench.ts'
import { startToldPages } from '../tests/support/told-pages.ts'
import { startSeededMesh } from './dashboard-ground.ts'
import { heapOf, measureOpening, readSeen, watchPage } from './page-measures.ts'
import type { PageFigures } from './page-measures.ts'
import { peerVersion, startPeerDashboard } from './peer-dashboard.ts'
import { median } from './statistics.ts'
import { figure } from './table.ts'

const agents = 100
const runs = 10_000
/** An hour of ten thousand a minute is six times as many, and takes an hour. */
const eventsTold = 100_000
/** Told at once, so often: 60,000 a minute, six times what a page has to bear. */
const together = 50
const everyMs = 50
const caughtUpMaxMs = 60_000
const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

export const dashboardBench: Bench = {
  name: 'dashboard',
  claim: `pages with ${agents} agents and ${runs} runs, their memory over ${eventsTold} events, and a peer's dashboard`,
  defaultRuns: 3,
  run: async (options) => {
    const executablePath = places.find((path) => existsSync(path))
    if (executablePath === undefined) throw new Error('there is no Chromium of the distribution')
    const browser = await chromium.launch({
      executablePath,
      args: ['--no-sandbox', '--disable-dev-shm-usage', '--js-flags=--expose-gc'],
    })
    try {
      return await measure(browser, options)
    } finally {
      await browser.close()
    }
  },
}

interface Opened {
  readonly name: string
  readonly url: string
  /** True within the page once what it is opened for is drawn. */
  readonly ready: string
}

async function measure(browser: Browser, options: BenchOptions) {
  const { progress, signal, folder } = options
  const mesh = await startSeededMesh({ agents, runs, progress })
  const peer = await startPeerDashboard({ folder, progress, signal })
  try {
    const opened: readonly Opened[] = [
      {
        name: `Fleet, ${agents} agents`,
        url: `${mesh.url}/fleet`,
        ready: `document.querySelectorAll('.agent-card').length >= ${agents}`,
      },
      {
        name: `Runs, ${runs} of them`,
        url: `${mesh.url}/runs`,
        ready: `document.querySelectorAll('main a[href^="/runs/"]').length >= 10`,
      },
      {
        name: 'Chat',
        url: `${mesh.url}/chat/agent-000`,
        ready: `document.querySelector('main textarea') !== null`,
      },
      ...('url' in peer
        ? [
            {
              name: `OpenClaw ${peerVersion}, Control UI`,
              url: peer.url,
              ready: `document.body.innerText.trim().length > 40`,
            },
          ]
        : []),
    ]
    const all = new Map<string, PageFigures[]>(opened.map(({ name }) => [name, []]))
    for (let round = 0; round < options.runs && !signal.aborted; round++) {
      progress(`round ${round + 1} of ${options.runs}`)
      for (const one of rotated(opened, round)) all.get(one.name)?.push(await measureOpening(browser, one))
    }
    progress(`telling ${eventsTold} events`)
    const memory = await overEvents(browser, { mesh, folder, signal })
    return {
      tables: [openingTable(all, 'why' in peer ? peer.why : null), memoryTable(memory)],
      figures: { opening: Object.fromEntries(all), memory },
    }
  } finally {
    if ('stop' in peer) await peer.stop()
    await mesh.stop()
  }
}

interface Moment {
  readonly told: number
  readonly heapBytes: number
  readonly nodes: number
  /** How far what is drawn is behind what was told, events. */
  readonly behind: number
}

interface OverEvents {
  readonly moments: readonly Moment[]
  readonly minutes: number
  readonly caughtUpMs: number
  readonly longTasks: number
  readonly longestTaskMs: number
}

/** Ten looks at a page of the fleet while events are told. */
async function overEvents(
  browser: Browser,
  on: {
    readonly mesh: Parameters<typeof startToldPages>[0]
    readonly folder: string
    readonly signal: AbortSignal
  },
): Promise<OverEvents> {
  const pages = await startToldPages(on.mesh, on.folder)
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
  try {
    const page = await context.newPage()
    const session = await context.newCDPSession(page)
    await watchPage(page)
    await page.goto(`${pages.url}/fleet`)
    await page.locator('[data-line=live]').first().waitFor()
    await page.locator('.agent-card').first().waitFor()
    await delay(2000)
    const drawn = async () =>
      Number(
        /step (\d+)/.exec(
          await page
            .locator('.feed')
            .first()
            .innerText()
            .catch(() => ''),
        )?.[1] ?? 0,
      )
    const moments: Moment[] = []
    const look = async (told: number): Promise<void> => {
      const behind = told === 0 ? 0 : told - (await drawn())
      const nodes = Number(await page.evaluate('document.querySelectorAll("*").length'))
      moments.push({ told, heapBytes: await heapOf(session), nodes, behind })
    }
    await look(0)
    const tasksBefore = (await readSeen(page)).tasks.length
    const startedAt = performance.now()
    let told = 0
    while (told < eventsTold && !on.signal.aborted) {
      for (let index = 0; index < together; index++) pages.tell(bodyOf(++told))
      const due = startedAt + (told / together) * everyMs
      await delay(Math.max(0, due - performance.now()))
      if (told % (eventsTold / 10) === 0) await look(told)
    }
    const endedAt = performance.now()
    while ((await drawn()) < told && performance.now() - endedAt < caughtUpMaxMs) await delay(20)
    const tasks = (await readSeen(page)).tasks.slice(tasksBefore)
    return {
      moments,
      minutes: (endedAt - startedAt) / 60_000,
      caughtUpMs: performance.now() - endedAt,
      longTasks: tasks.length,
      longestTaskMs: Math.max(0, ...tasks.map(({ took }) => took)),
    }
  } finally {
    await context.close()
    await pages.close()
  }
}

/** Events of a fleet at work: some are drawn, some make lists old. */
function bodyOf(number: number): FleetEventBody {
  const agent = `agent-${String(number % agents).padStart(3, '0')}`
  const run = `run_${(number % runs).toString(36).padStart(20, '0')}`
  if (number % 10 === 0) {
    return {
      type: 'run.changed',
      agent_id: agent,
      run_id: run,
      parent_id: null,
      state: 'failed',
      outcome: { status: 'failed', text: `step ${number}` },
    }
  }
  return {
    type: 'note.added',
    note_id: `note_${number}`,
    agent_id: agent,
    message: `step ${number} of what it does`,
  }
}

const kilo = (bytes: number): string => figure(bytes / 1024, 0)
const mega = (bytes: number): string => figure(bytes / 1024 ** 2, 1)

function openingTable(all: ReadonlyMap<string, readonly PageFigures[]>, why: string | null) {
  const of = (name: string, field: keyof PageFigures) =>
    median((all.get(name) ?? []).map((one) => one[field]))
  return {
    title: `Dashboard: a page opened in a browser that knows nothing of it, ${agents} agents and ${runs} runs`,
    columns: [
      '',
      'first content, ms',
      'interactive, ms',
      'largest content, ms',
      'blocked, ms',
      'long tasks',
      'shift',
      'KB over the line',
      'requests',
      'heap, MB',
    ],
    rows: [...all.keys()].map((name) => [
      name,
      figure(of(name, 'firstContentMs'), 0),
      figure(of(name, 'interactiveMs'), 0),
      figure(of(name, 'largestContentMs'), 0),
      figure(of(name, 'blockingMs'), 0),
      figure(of(name, 'longTasks'), 0),
      figure(of(name, 'layoutShift'), 3),
      kilo(of(name, 'bytes')),
      figure(of(name, 'requests'), 0),
      mega(of(name, 'heapBytes')),
    ]),
    notes: [
      'Medians of the rounds. Interactive: what the page is opened for is drawn, with its data, and the last task of more than 50 ms is over.',
      ...(why === null
        ? ['The peer has no agents, runs or sessions but its first; it draws its first page.']
        : [`The peer was not measured: ${why}`]),
    ],
  }
}

function memoryTable({ moments, minutes, caughtUpMs, longTasks, longestTaskMs }: OverEvents) {
  return {
    title: `Dashboard: the page of the fleet over ${eventsTold} events in ${figure(minutes, 1)} minutes`,
    columns: ['events told', 'heap, MB', 'elements', 'events behind'],
    rows: moments.map(({ told, heapBytes, nodes, behind }) => [
      String(told),
      mega(heapBytes),
      String(nodes),
      String(behind),
    ]),
    notes: [
      `${figure(eventsTold / minutes, 0)} a minute over a real socket from the mesh's own event bus, in this process, with their rows; lists are asked of a real mesh. In place of an hour of 10,000 a minute.`,
      `All was drawn ${figure(caughtUpMs, 0)} ms after the last was told; ${longTasks} tasks of more than 50 ms, the longest ${figure(longestTaskMs, 0)} ms.`,
    ],
  }
}
