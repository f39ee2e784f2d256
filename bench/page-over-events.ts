import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { FleetEventBody } from '@flotilla/protocol/fleet-event'
import type { Browser } from 'playwright-core'
import { startEventPages } from '../tests/support/event-pages.ts'
import { heapOf, readSeen, watchPage } from './page-measures.ts'
import { figure, mega } from './table.ts'

export const agentsListed = 100
export const runsListed = 10_000
/** Number of events that are published together. */
const together = 50
const caughtUpMaxMs = 60_000

interface Moment {
  readonly told: number
  readonly heapBytes: number
  /** Private memory of the processes that draw pages, with their proportion of shared memory. */
  readonly processBytes: number
  readonly nodes: number
  /** Number of nodes that the browser keeps for the page, in view or not. */
  readonly keptNodes: number
  readonly listeners: number
  /** How many received events the page has not drawn yet. */
  readonly behind: number
}

export interface OverEvents {
  readonly told: number
  readonly moments: readonly Moment[]
  readonly minutes: number
  readonly caughtUpMs: number
  readonly longTasks: number
  readonly longestTaskMs: number
}

/** Measures a page of the fleet before and while this many events arrive, each time after a garbage collection. */
export async function overEvents(
  browser: Browser,
  on: {
    readonly mesh: Parameters<typeof startEventPages>[0]
    readonly folder: string
    readonly signal: AbortSignal
    readonly events: number
    readonly perMinute: number
    readonly sampleEvery: number
    readonly progress: (step: string) => void
  },
): Promise<OverEvents> {
  const { signal, events, perMinute, sampleEvery, progress } = on
  const pages = await startEventPages(on.mesh, on.folder)
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
  try {
    const page = await context.newPage()
    const session = await context.newCDPSession(page)
    const ofBrowser = await browser.newBrowserCDPSession()
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
      const heapBytes = await heapOf(session)
      const { nodes: keptNodes, jsEventListeners: listeners } = await session.send('Memory.getDOMCounters')
      const { processInfo } = await ofBrowser.send('SystemInfo.getProcessInfo')
      const drawing = processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => memoryOf(id))
      const processBytes = drawing.reduce((sum, bytes) => sum + bytes, 0)
      moments.push({ told, heapBytes, processBytes, nodes, keptNodes, listeners, behind })
      progress(
        `${told} events: heap ${mega(heapBytes)} MB, process ${mega(processBytes)} MB, ${nodes} elements, ${keptNodes} nodes kept, ${listeners} listeners`,
      )
    }
    await look(0)
    const tasksBefore = (await readSeen(page)).tasks.length
    const startedAt = performance.now()
    let told = 0
    while (told < events && !signal.aborted) {
      for (let index = 0; index < together; index++) pages.tell(bodyOf(++told))
      const due = startedAt + (told / perMinute) * 60_000
      await delay(Math.max(0, due - performance.now()))
      if (told % sampleEvery === 0) await look(told)
    }
    const endedAt = performance.now()
    while ((await drawn()) < told && performance.now() - endedAt < caughtUpMaxMs) await delay(20)
    const tasks = (await readSeen(page)).tasks.slice(tasksBefore)
    return {
      told,
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

/** Memory of one process, bytes; 0 once it has ended. */
function memoryOf(pid: number): number {
  try {
    const found = /^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))
    return Number(found?.[1] ?? 0) * 1024
  } catch {
    return 0
  }
}

/** Events of a working fleet: some are drawn, others make the page reload lists. */
function bodyOf(number: number): FleetEventBody {
  const agent = `agent-${String(number % agentsListed).padStart(3, '0')}`
  const run = `run_${(number % runsListed).toString(36).padStart(20, '0')}`
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

export function memoryTable({ told, moments, minutes, caughtUpMs, longTasks, longestTaskMs }: OverEvents) {
  return {
    title: `Dashboard: the page of the fleet over ${told} events in ${figure(minutes, 1)} minutes`,
    columns: [
      'events told',
      'heap, MB',
      'process, MB',
      'elements',
      'nodes kept',
      'listeners',
      'events behind',
    ],
    rows: moments.map(({ told: by, heapBytes, processBytes, nodes, keptNodes, listeners, behind }) => [
      String(by),
      mega(heapBytes),
      mega(processBytes),
      String(nodes),
      String(keptNodes),
      String(listeners),
      String(behind),
    ]),
    notes: [
      `${figure(told / minutes, 0)} a minute over a real socket from the mesh's own event bus, in this process, with their rows; lists are asked of a real mesh. Heap and process as they are once what can go was collected.`,
      `All was drawn ${figure(caughtUpMs, 0)} ms after the last was sent; ${longTasks} tasks of more than 50 ms, the longest ${figure(longestTaskMs, 0)} ms.`,
    ],
  }
}
