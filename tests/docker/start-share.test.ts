import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { sandboxSizes } from '../../packages/fleet/src/sandbox/default-agent-sizes.ts'
import { sandboxName } from '../../packages/fleet/src/sandbox/sandbox-spec.ts'
import { subjectHands } from '../../packages/fleet/src/sandbox/sandbox-runtime.conformance.ts'
import type { SandboxState } from '../../packages/fleet/src/sandbox/sandbox-runtime.ts'
import { startShareMs } from '../../packages/fleet/src/sandbox/start-shares.ts'
import { systemClock } from '../../packages/foundation/src/platform/system-clock.ts'
import { patient } from '../support/patience.ts'
import { engineOfThisMachine, useDockerHome, withEngine } from './sandbox-lane.ts'

const found = await engineOfThisMachine()
const worker = sandboxSizes.worker.cpu
const isSoak = process.env['FLOTILLA_SOAK'] === '1'
/**
 * Pause between two looks. A lent share lasts for some twenty of them, and each makes the engine inspect every
 * agent.
 */
const pollEveryMs = isSoak ? 0 : 100
/** Uses two processors fully for some seconds. */
const burn = `timeout 4 sh -c 'while :; do :; done' & timeout 4 sh -c 'while :; do :; done' & wait`

/** Returns whether an agent answers within the time. */
function answersWithin({ address }: SandboxState, ms: number): Promise<boolean> {
  return fetch(`http://${address?.host}:${address?.port}/healthz`, { signal: AbortSignal.timeout(ms) }).then(
    () => true,
    () => false,
  )
}

withEngine(
  'the processor share of a start',
  (engine) => {
    const home = useDockerHome(engine)
    const containerOf = (agentId: string) => engine.docker.getContainer(sandboxName(home().homeId, agentId))
    const hasMore = async (agentId: string) => (await home().shareOf(agentId)).quotaUs > worker.quotaUs
    /** Returns the total processor time of a container in milliseconds. */
    const usedMs = async (agentId: string) => {
      const stats = await containerOf(agentId).stats({ stream: false, 'one-shot': true })
      return stats.cpu_stats.cpu_usage.total_usage / 1e6
    }
    const sinceBegin = async (agentId: string) =>
      Date.now() - Date.parse((await containerOf(agentId).inspect()).State.StartedAt)

    it.each(['worker', 'operator'] as const)(
      'a %s starts with a whole processor and works with its own share',
      async (kind) => {
        const agentId = `quick-${kind}`
        const { cpu } = sandboxSizes[kind]
        const before = home().runtime.start(home().specOf({ agentId, kind, ...sandboxSizes[kind] }))
        const state = await before
        expect(await home().shareOf(agentId)).toEqual({ quotaUs: cpu.periodUs, periodUs: cpu.periodUs })
        await subjectHands.answers(state)
        await home().runtime.endStartShare(agentId)
        expect(await home().shareOf(agentId)).toEqual(cpu)
        // The kernel enforces the limit that the engine reports.
        const from = await usedMs(agentId)
        const startedAt = performance.now()
        await home().run(state, burn)
        const share = ((await usedMs(agentId)) - from) / (performance.now() - startedAt)
        expect(share).toBeLessThan((cpu.quotaUs / cpu.periodUs) * 1.5)
      },
    )

    it('a program that delays the answer has no more than two seconds of it', async () => {
      const state = await home().runtime.start(home().specOf({ agentId: 'dawdler' }))
      await subjectHands.answers(state)
      const burning = home().run(state, burn)
      await expect.poll(() => hasMore('dawdler'), { timeout: patient(5_000) }).toBe(false)
      expect(await usedMs('dawdler')).toBeLessThan(startShareMs)
      const [from, startedAt] = [await usedMs('dawdler'), performance.now()]
      await burning
      const own = worker.quotaUs / worker.periodUs
      const most = own * (performance.now() - startedAt) + 2 * (worker.quotaUs / 1_000)
      expect((await usedMs('dawdler')) - from).toBeLessThan(most)
    })

    it('the CPU share of a start is over within two seconds of the beginning of the process, on a machine that is not overrun', async () => {
      await home().runtime.start(home().specOf({ agentId: 'timed' }))
      expect(await hasMore('timed')).toBe(true)
      while (await hasMore('timed')) await delay(20)
      expect(await sinceBegin('timed')).toBeLessThan(patient(startShareMs))
    })

    it('one that does not heed its stop has no more than two seconds of it either', async () => {
      const state = await home().runtime.start(home().specOf({ agentId: 'deaf' }))
      await subjectHands.answers(state)
      // A stopped process ends only by SIGKILL; its child processes continue meanwhile.
      await home().run(state, `mkfifo /data/nobody; (${burn}) > /dev/null 2>&1 &`)
      subjectHands.readFile(state, 'nobody').catch(() => null)
      while (await answersWithin(state, 500)) await delay(50)
      let isOver = false
      const stopping = home()
        .runtime.stop('deaf', { graceMs: patient(5_000) })
        .then(() => (isOver = true))
      await expect.poll(() => hasMore('deaf'), { timeout: patient(5_000) }).toBe(false)
      expect(isOver).toBe(false)
      await home().runtime.remove('deaf', { data: true })
      await stopping
    })

    it('one that starts over and over is not lent it each time', async () => {
      const lent: boolean[] = []
      for (let round = 0; round < 3; round++) {
        const state = await home().runtime.start(home().specOf({ agentId: 'crasher' }))
        lent.push(await hasMore('crasher'))
        await subjectHands.answers(state)
        // By then it has used a second of CPU time, which takes seven seconds with its own share.
        await delay(1_000)
        await subjectHands.endWith(state, 1)
      }
      expect(lent).toEqual([true, false, false])
    })

    it('many agents that start at once leave one processor to the machine', async () => {
      const ids = Array.from(
        { length: isSoak ? 2 * engine.cpus + 2 : engine.cpus + 2 },
        (_, index) => `many-${index}`,
      )
      const over = new AbortController()
      let most = 0
      const watching = (async () => {
        while (!over.signal.aborted) {
          const lent = await Promise.all(ids.map((id) => hasMore(id).catch(() => false)))
          most = Math.max(most, lent.filter(Boolean).length)
          await delay(pollEveryMs)
        }
      })()
      await Promise.all(ids.map((agentId) => home().runtime.start(home().specOf({ agentId }))))
      await delay(startShareMs)
      over.abort()
      await watching
      expect(most).toBeGreaterThan(0)
      expect(most).toBeLessThanOrEqual(Math.max(1, engine.cpus - 1))
      await Promise.all(ids.map((agentId) => home().runtime.remove(agentId, { data: true })))
    })

    it('a mesh that died in between ends the lent share when it comes again, before any request', async () => {
      const died = await home().again({ clock: { ...systemClock, sleep: () => new Promise(() => {}) } })
      await died.start(home().specOf({ agentId: 'orphan' }))
      await delay(startShareMs)
      expect(await hasMore('orphan')).toBe(true)
      const next = await home().again()
      expect(await home().shareOf('orphan')).toEqual(worker)
      await next.close()
    })

    it('one that is still at it when its agent is adopted is put right then', async () => {
      const died = await home().again({ clock: { ...systemClock, sleep: () => new Promise(() => {}) } })
      const next = await home().again()
      await died.start(home().specOf({ agentId: 'late-orphan' }))
      expect(await hasMore('late-orphan')).toBe(true)
      await next.endStartShare('late-orphan')
      expect(await home().shareOf('late-orphan')).toEqual(worker)
      await next.close()
    })
  },
  found,
)
