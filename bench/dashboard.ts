import { existsSync } from 'node:fs'
import { chromium } from 'playwright-core'
import type { Browser } from 'playwright-core'
import type { Bench, BenchOptions } from './bench.ts'
import { rotated } from './bench.ts'
import { startSeededMesh } from './dashboard-ground.ts'
import { measureOpening } from './page-measures.ts'
import type { PageFigures } from './page-measures.ts'
import { peerVersion, startPeerDashboard } from './peer-dashboard.ts'
import { median } from './statistics.ts'
import { figure, mega } from './table.ts'
import { agentsListed as agents, memoryTable, overEvents, runsListed as runs } from './page-over-events.ts'

const eventsTold = 100_000
/** Six times the rate for which the page is designed; a slow machine publishes fewer. */
const perMinute = 60_000
const hourMinutes = 60
const hourPerMinute = 10_000
const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

export const dashboardBench: Bench = {
  name: 'dashboard',
  claim: `pages with ${agents} agents and ${runs} runs, their memory over ${eventsTold} events, and a peer's dashboard`,
  defaultRuns: 3,
  run: (options) => inBrowser((browser) => measure(browser, options)),
}

export const dashboardHourBench: Bench = {
  name: 'dashboard-hour',
  claim: `memory of a page over an hour of ${hourPerMinute} events a minute`,
  defaultRuns: 1,
  long: true,
  run: ({ progress, signal, folder }) =>
    inBrowser(async (browser) => {
      const mesh = await startSeededMesh({ agents, runs, progress })
      try {
        const pace = {
          events: hourMinutes * hourPerMinute,
          perMinute: hourPerMinute,
          sampleEvery: 5 * hourPerMinute,
        }
        const memory = await overEvents(browser, { mesh, folder, signal, progress, ...pace })
        return { tables: [memoryTable(memory)], figures: { memory } }
      } finally {
        await mesh.stop()
      }
    }),
}

async function inBrowser<Report>(measured: (browser: Browser) => Promise<Report>): Promise<Report> {
  const executablePath = places.find((path) => existsSync(path))
  if (executablePath === undefined) throw new Error('there is no Chromium of the distribution')
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] })
  try {
    return await measured(browser)
  } finally {
    await browser.close()
  }
}

interface Opened {
  readonly name: string
  readonly url: string
  /** JavaScript expression that is true in the page once the expected content is drawn. */
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
        // Cards out of view are not drawn.
        ready: `Number(document.querySelector('[aria-setsize]')?.getAttribute('aria-setsize')) > ${agents}`,
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
    const memory = await overEvents(browser, {
      mesh,
      folder,
      signal,
      progress,
      events: eventsTold,
      perMinute,
      sampleEvery: eventsTold / 10,
    })
    return {
      tables: [openingTable(all, 'why' in peer ? peer.why : null), memoryTable(memory)],
      figures: { opening: Object.fromEntries(all), memory },
    }
  } finally {
    if ('stop' in peer) await peer.stop()
    await mesh.stop()
  }
}

const kilo = (bytes: number): string => figure(bytes / 1024, 0)

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
