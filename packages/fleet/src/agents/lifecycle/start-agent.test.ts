import type { IsolationRung } from '@flotilla/protocol/isolation'
import type { JsonValue } from '@flotilla/protocol/json-value'
import { Problem } from '@flotilla/protocol/problem'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { heedsLesson } from '../../../../../tests/verifies.ts'
import { aFleet, aWorker, owner, patient, reasonOf, stateOf } from '../../../../testing/src/fleet-harness.ts'
import type { FleetHarness } from '../../../../testing/src/fleet-harness.ts'

let harness: FleetHarness
const idle = () => ({ busy: false, queued: 0, waiting: 0, costTodayUsd: 0, pausedReason: null })
afterEach(() => harness.close())

const doorTokenOf = (start: number) => harness.runtime.doorTokens[start] ?? ''
const programTokenOf = (start: number) => harness.runtime.started[start]?.environment['OPENAI_API_KEY'] ?? ''

function promiseGate(): { readonly passed: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { passed: promise, open: resolve }
}

describe('starting an agent', () => {
  test('the environment contains the identity, the API address and no secret but the program token', async () => {
    harness = await aWorker()
    await harness.fleet.connection.ensureRunning('w', patient)
    const spec = harness.runtime.started[0]
    expect(spec?.environment).toEqual({
      FLOTILLA_AGENT_ID: 'w',
      ...Object.fromEntries(
        ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy'].map((name) => [
          name,
          `http://w:${spec?.environment['OPENAI_API_KEY']}@127.0.0.1:8421`,
        ]),
      ),
      NO_PROXY: '127.0.0.1,localhost,::1',
      no_proxy: '127.0.0.1,localhost,::1',
      FLOTILLA_AGENT_ROLE: 'does work',
      FLOTILLA_AGENT_KIND: 'worker',
      FLOTILLA_MESH_URL: 'http://127.0.0.1:8420',
      FLOTILLA_MODEL: 'scripted/demo',
      FLOTILLA_MESH_PUBLIC_KEY: harness.deps.meshIdentity.publicKeyBase64url,
      FLOTILLA_INITIAL_INSTRUCTIONS: '',
      FLOTILLA_MAX_ITERATIONS: '20',
      OPENAI_BASE_URL: 'http://127.0.0.1:8420/v1',
      OPENAI_API_KEY: programTokenOf(0),
      ANTHROPIC_BASE_URL: 'http://127.0.0.1:8420',
      ANTHROPIC_API_KEY: programTokenOf(0),
      GOOGLE_GEMINI_BASE_URL: 'http://127.0.0.1:8420',
      GEMINI_API_KEY: programTokenOf(0),
    })
    expect(harness.fleet.connection.verifyToken(doorTokenOf(0))).toEqual({ agentId: 'w', token: 'door' })
    expect(harness.fleet.connection.verifyToken(programTokenOf(0))).toEqual({
      agentId: 'w',
      token: 'program',
    })
    expect(JSON.stringify(spec?.environment)).not.toContain(doorTokenOf(0))
  })

  test('agents that start concurrently each get their own environment', async () => {
    heedsLesson(66)
    harness = await aFleet()
    for (const id of ['w', 'v']) await harness.fleet.admin.create(owner, { id, role: 'r', instructions: '' })
    await Promise.all(['w', 'v'].map((id) => harness.fleet.connection.ensureRunning(id, patient)))
    for (const { agentId, environment } of harness.runtime.started) {
      expect(environment['FLOTILLA_AGENT_ID']).toBe(agentId)
      const token = environment['OPENAI_API_KEY'] ?? ''
      expect(harness.fleet.connection.verifyToken(token)).toEqual({ agentId, token: 'program' })
    }
  })

  test('the start of an agent is announced with the time it took', async () => {
    harness = await aWorker()
    await harness.fleet.connection.ensureRunning('w', patient)
    expect(harness.events).toContainEqual({ type: 'agent.started', agent_id: 'w', ready_ms: 0 })
    expect(stateOf(harness.fleet, 'w')).toBe('running')
  })

  test('fifty callers share one start', async () => {
    harness = await aWorker()
    const lines = await Promise.all(
      Array.from({ length: 50 }, () => harness.fleet.connection.ensureRunning('w', patient)),
    )
    expect(harness.runtime.started).toHaveLength(1)
    expect(await Promise.all(lines.map((line) => line.healthy(patient)))).not.toContain(false)
  })

  test('fifty callers share one failure', async () => {
    harness = await aWorker()
    harness.runtime.beforeStart = () => Promise.reject(new Error('no image'))
    const reasons = await Promise.all(
      Array.from({ length: 50 }, () => reasonOf(harness.fleet.connection.ensureRunning('w', patient))),
    )
    expect(harness.runtime.started).toHaveLength(1)
    expect(reasons.filter((reason) => reason.includes('no image'))).toHaveLength(50)
  })

  test('a caller that gives up leaves the start to the others', async () => {
    harness = await aWorker()
    const gate = promiseGate()
    harness.runtime.beforeStart = () => gate.passed
    const hasty = new AbortController()
    const gaveUp = harness.fleet.connection.ensureRunning('w', hasty.signal)
    const stays = harness.fleet.connection.ensureRunning('w', patient)
    hasty.abort(new Error('no time'))
    await expect(gaveUp).rejects.toThrow('no time')
    gate.open()
    expect((await stays).agentId).toBe('w')
    expect(harness.runtime.started).toHaveLength(1)
  })

  test('a caller whose deadline passes is informed that the agent is still starting', async () => {
    harness = await aWorker()
    const gate = promiseGate()
    harness.runtime.beforeStart = () => gate.passed
    await expect(harness.fleet.connection.ensureRunning('w', AbortSignal.timeout(5))).rejects.toMatchObject({
      code: 'agent-unavailable',
      detail: 'agent w is still being started',
    })
    gate.open()
    expect((await harness.fleet.connection.ensureRunning('w', patient)).agentId).toBe('w')
  })

  test('an agent that starts does not keep another waiting', async () => {
    harness = await aWorker()
    await harness.fleet.admin.create(owner, { id: 'x', role: 'x' })
    const gate = promiseGate()
    harness.runtime.beforeStart = (spec) => (spec.agentId === 'w' ? gate.passed : Promise.resolve())
    const slow = harness.fleet.connection.ensureRunning('w', patient)
    await harness.fleet.connection.ensureRunning('x', patient)
    expect(stateOf(harness.fleet, 'w')).toBe('starting')
    gate.open()
    await slow
  })

  test('an agent is unreachable until its start share has ended', async () => {
    harness = await aWorker()
    const gate = promiseGate()
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
    harness.runtime.beforeHold = () => (ask(), gate.passed)
    let isReached = false
    const reached = harness.fleet.connection.ensureRunning('w', patient).then(() => (isReached = true))
    await asked
    for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve))
    expect([isReached, stateOf(harness.fleet, 'w')]).toEqual([false, 'starting'])
    expect(await harness.fleet.connection.connectIfRunning('w')).toBeNull()
    gate.open()
    await reached
    await harness.fleet.lifecycle.stop('w', 'idle')
    await harness.fleet.connection.ensureRunning('w', patient)
    expect(harness.runtime.held).toEqual(['w', 'w'])
  })

  test('the bootstrap files exist before the sandbox, readable by any user', async () => {
    harness = await aWorker()
    let brief = ''
    harness.runtime.beforeStart = async (spec) => {
      brief = await readFile(join(spec.briefingDirectory, 'SYSTEM.md'), 'utf8')
      expect((await stat(spec.briefingDirectory)).mode & 0o777).toBe(0o755)
      expect((await stat(join(spec.briefingDirectory, 'PROJECT.md'))).mode & 0o777).toBe(0o644)
    }
    await harness.fleet.connection.ensureRunning('w', patient)
    expect(brief).toContain('`w`, a worker')
  })

  test('ids that differ by one character have separate bootstrap files', async () => {
    harness = await aFleet()
    for (const id of ['a-b', 'a_b', 'A-b']) {
      await harness.fleet.admin.create(owner, { id, role: id })
      await harness.fleet.connection.ensureRunning(id, patient)
    }
    const folders = harness.runtime.started.map((spec) => spec.briefingDirectory.toLowerCase())
    expect(new Set(folders).size).toBe(3)
  })
})

describe('a start that fails', () => {
  test('a failed start leaves no token and no process, and its reason contains the last output', async () => {
    harness = await aWorker()
    harness.runtime.beforeStart = () => Promise.reject(new Error('no image'))
    await expect(harness.fleet.connection.ensureRunning('w', patient)).rejects.toMatchObject({
      code: 'agent-unavailable',
    })
    const view = harness.fleet.registry.viewOf('w', () => ({
      busy: false,
      queued: 0,
      waiting: 0,
      costTodayUsd: 0,
      pausedReason: null,
    }))
    expect(view).toMatchObject({ state: 'restarting' })
    expect(view.last_error).toMatch(/no image.*no such model/s)
    expect(view.last_error).not.toContain('\u001B')
    expect(harness.fleet.connection.verifyToken(doorTokenOf(0))).toBeNull()
    expect(harness.fleet.connection.verifyToken(programTokenOf(0))).toBeNull()
    expect(harness.runtime.isRunning('w')).toBe(false)
  })

  test('an agent that never answers is given up after a minute', async () => {
    harness = await aWorker()
    harness.runtime.mute.add('w')
    const before = harness.clock.now()
    await expect(harness.fleet.connection.ensureRunning('w', patient)).rejects.toThrow(
      'did not answer within 60 s',
    )
    expect(harness.clock.now() - before).toBeGreaterThanOrEqual(60_000)
    expect(harness.clock.now() - before).toBeLessThan(62_000)
    expect(harness.runtime.isRunning('w')).toBe(false)
  })

  test('an agent that cannot be held to its processor share is not started', async () => {
    harness = await aWorker()
    harness.runtime.beforeHold = () => Promise.reject(new Error('the engine refused'))
    await expect(harness.fleet.connection.ensureRunning('w', patient)).rejects.toThrow('the engine refused')
    expect([harness.runtime.isRunning('w'), stateOf(harness.fleet, 'w')]).toEqual([false, 'restarting'])
  })

  test('a process that ends at once is noticed long before the minute is over', async () => {
    harness = await aWorker()
    harness.runtime.mute.add('w')
    const before = harness.clock.now()
    const failed = reasonOf(harness.fleet.connection.ensureRunning('w', patient))
    while (!harness.runtime.isRunning('w')) await new Promise((resolve) => setImmediate(resolve))
    await harness.runtime.kill('w', 3)
    expect(await failed).toContain('ended with exit code 3')
    expect(harness.clock.now() - before).toBeLessThan(20_000)
    expect(harness.events.map((event) => event.type)).not.toContain('agent.died')
  })

  test('a start that fails is not the end: the next caller starts it again', async () => {
    harness = await aWorker()
    harness.runtime.beforeStart = () => Promise.reject(new Error('no image'))
    await expect(harness.fleet.connection.ensureRunning('w', patient)).rejects.toThrow('no image')
    harness.runtime.beforeStart = async () => {}
    await harness.fleet.connection.ensureRunning('w', patient)
    expect(stateOf(harness.fleet, 'w')).toBe('running')
  })

  test('an agent without any model is refused before anything is made', async () => {
    harness = await aWorker({ defaultModel: () => null })
    await expect(harness.fleet.connection.ensureRunning('w', patient)).rejects.toMatchObject({
      code: 'not-configured',
    })
    expect(harness.runtime.started).toHaveLength(0)
    expect(stateOf(harness.fleet, 'w')).toBe('created')
  })

  test('a wall that does not hold starts nothing', async () => {
    let hold = true
    harness = await aWorker({ isolation: { hold: () => hold } })
    await harness.fleet.connection.ensureRunning('w', patient)
    hold = false
    await expect(harness.fleet.connection.ensureRunning('w', patient)).rejects.toMatchObject({
      code: 'fleet-paused',
    })
    await expect(harness.fleet.lifecycle.restart(owner, 'w')).rejects.toMatchObject({ code: 'fleet-paused' })
    expect(harness.runtime.started).toHaveLength(1)
  })

  test('an agent whose isolation level is unavailable is refused before anything is created', async () => {
    const refused = new Problem('isolation-unavailable', { detail: 'gvisor is required' })
    harness = await aWorker({
      placing: {
        wishOf: () => ({ wanted: 'gvisor', floor: 'gvisor' }),
        place: () => Promise.reject(refused),
        lacking: () => 'gvisor is required',
        doubt: () => {},
        adopted: () => {},
      },
    })
    await expect(harness.fleet.connection.ensureRunning('w', patient)).rejects.toBe(refused)
    expect(harness.runtime.started).toHaveLength(0)
    expect(stateOf(harness.fleet, 'w')).toBe('created')
    expect(harness.fleet.registry.viewOf('w', idle).isolation).toEqual({
      wanted: 'gvisor',
      required: 'gvisor',
      runs_on: null,
      fallback: 'gvisor is required',
    })
  })

  test('an agent that does not exist is unknown', async () => {
    harness = await aFleet()
    await expect(harness.fleet.connection.ensureRunning('w', patient)).rejects.toMatchObject({
      code: 'unknown-agent',
    })
  })
})

describe('the isolation of an agent', () => {
  const fallback = 'gvisor is not available: runsc is not installed'

  test('a fallback is in the event and the audit log, and does not restart the agent', async () => {
    harness = await aWorker({
      placing: {
        wishOf: () => ({ wanted: 'gvisor', floor: 'container' }),
        place: async () => ({ rung: 'container', fallback }),
        lacking: () => null,
        doubt: () => {},
        adopted: () => {},
      },
    })
    await harness.fleet.connection.ensureRunning('w', patient)
    await harness.fleet.connection.ensureRunning('w', patient)
    expect(harness.runtime.started.map(({ isolation }) => isolation)).toEqual(['container'])
    const message = `the agent runs at isolation level container instead of gvisor: ${fallback}`
    expect(harness.events).toContainEqual({ type: 'agent.warned', agent_id: 'w', message })
    expect(harness.journal).toContainEqual(
      expect.objectContaining({ action: 'agent.warned', detail: { message } }),
    )
  })

  test('an isolation level on which a start failed is doubted, so that the same start may fall back', async () => {
    let broken = false
    harness = await aWorker({
      placing: {
        wishOf: () => ({ wanted: 'gvisor', floor: 'container' }),
        place: async () => (broken ? { rung: 'container', fallback } : { rung: 'gvisor', fallback: null }),
        lacking: () => null,
        adopted: () => {},
        doubt: () => {
          broken = true
        },
      },
    })
    harness.runtime.beforeStart = async ({ isolation }) => {
      if (isolation === 'gvisor') throw new Error('runsc is gone')
    }
    await harness.fleet.connection.ensureRunning('w', patient)
    expect(harness.fleet.registry.viewOf('w', idle)).toMatchObject({ state: 'running' })
    expect(harness.runtime.started.at(-1)?.isolation).toBe('container')
    const message = `the agent runs at isolation level container instead of gvisor: ${fallback}`
    expect(harness.events).toContainEqual({ type: 'agent.warned', agent_id: 'w', message })
  })

  test('an isolation level on which a start failed though it can be had is no reason to run on less', async () => {
    const rungs: IsolationRung[] = []
    harness = await aWorker({
      placing: {
        wishOf: () => ({ wanted: 'gvisor', floor: 'container' }),
        place: async () => ({ rung: 'gvisor', fallback: null }),
        lacking: () => null,
        adopted: () => {},
        doubt: (rung) => void rungs.push(rung),
      },
    })
    harness.runtime.beforeStart = async () => {
      throw new Error('it had a bad day')
    }
    await expect(harness.fleet.connection.ensureRunning('w', patient)).rejects.toThrow('it had a bad day')
    expect(rungs).toEqual(['gvisor'])
    expect(harness.runtime.started.map(({ isolation }) => isolation)).not.toContain('container')
  })

  test('a changed isolation level takes effect with the next run and survives a restart of the mesh', async () => {
    let wanted: IsolationRung = 'container'
    const adopted: IsolationRung[] = []
    harness = await aWorker({
      placing: {
        wishOf: () => ({ wanted, floor: 'container' }),
        place: async (wish) => ({ rung: wish.wanted, fallback: null }),
        lacking: () => null,
        doubt: () => {},
        adopted: (rung) => void adopted.push(rung),
      },
    })
    await harness.fleet.connection.ensureRunning('w', patient)
    wanted = 'gvisor'
    expect(harness.runtime.started).toHaveLength(1)
    await harness.fleet.connection.ensureRunning('w', patient)
    expect(harness.runtime.started.map(({ isolation }) => isolation)).toEqual(['container', 'gvisor'])
    const next = harness.again()
    await next.lifecycle.reconcile()
    expect(adopted).toEqual(['gvisor'])
    await next.connection.ensureRunning('w', patient)
    expect(harness.runtime.started).toHaveLength(2)
  })
})

describe('stopping and restarting', () => {
  test('a stop ends the tokens and the process', async () => {
    harness = await aWorker()
    await harness.fleet.connection.ensureRunning('w', patient)
    await harness.fleet.lifecycle.stop('w', 'idle')
    expect(harness.fleet.connection.verifyToken(doorTokenOf(0))).toBeNull()
    expect(harness.runtime.isRunning('w')).toBe(false)
    expect(harness.events.at(-1)).toEqual({ type: 'agent.stopped', agent_id: 'w', reason: 'idle' })
    await harness.fleet.lifecycle.stop('w', 'again')
    expect(harness.events.filter((event) => event.type === 'agent.stopped')).toHaveLength(1)
  })

  test('a stop during a start breaks it off, and nothing is left of either', async () => {
    heedsLesson(62)
    harness = await aWorker()
    harness.runtime.mute.add('w')
    const started = reasonOf(harness.fleet.connection.ensureRunning('w', patient))
    while (!harness.runtime.isRunning('w')) await new Promise((resolve) => setImmediate(resolve))
    await harness.fleet.lifecycle.stop('w', 'not needed')
    expect(await started).toContain('not needed')
    expect(harness.runtime.isRunning('w')).toBe(false)
    expect(stateOf(harness.fleet, 'w')).toBe('stopped')
    expect(harness.fleet.connection.verifyToken(doorTokenOf(0))).toBeNull()
  })

  test('a caller after a stop that waits gets a start of its own', async () => {
    harness = await aWorker()
    const gate = promiseGate()
    harness.runtime.beforeStart = () => gate.passed
    const first = reasonOf(harness.fleet.connection.ensureRunning('w', patient))
    const stopped = harness.fleet.lifecycle.stop('w', 'not needed')
    const second = harness.fleet.connection.ensureRunning('w', patient)
    gate.open()
    expect(await first).toContain('not needed')
    await stopped
    expect(await (await second).healthy(patient)).toBe(true)
    expect(stateOf(harness.fleet, 'w')).toBe('running')
    expect(
      harness.fleet.connection.verifyToken(programTokenOf(harness.runtime.started.length - 1)),
    ).not.toBeNull()
  })

  test.each(['restart', 'stop'] as const)(
    'a %s that was cut off ends the sandbox that it was to end, and none that was started since',
    async (way) => {
      harness = await aWorker()
      const { fleet, runtime } = harness
      const cutOff = async (begun: JsonValue): Promise<JsonValue> => {
        let mark: JsonValue = begun
        const step = { begun, begin: (next: JsonValue) => void (mark = next) }
        if (way === 'restart') await fleet.lifecycle.restart(owner, 'w', step)
        else await fleet.lifecycle.stop('w', 'asked', step)
        return mark
      }
      await fleet.connection.ensureRunning('w', patient)
      // The first call carries out the whole operation and returns its mark; repeating it with that
      // mark must end nothing that was started since.
      const begun = await cutOff(null)
      expect(runtime.started).toHaveLength(way === 'restart' ? 2 : 1)
      await fleet.connection.ensureRunning('w', patient)
      const before = runtime.started.length
      expect(await cutOff(begun)).toEqual(begun)
      expect([runtime.started.length, runtime.isRunning('w')]).toEqual([before, true])
      const again = await cutOff(null)
      await cutOff(again)
      expect(runtime.started).toHaveLength(way === 'restart' ? before + 1 : before)
      expect(runtime.isRunning('w')).toBe(way === 'restart')
    },
  )

  test('a restart revokes the old tokens, keeps the data and calls the listeners', async () => {
    harness = await aWorker()
    const gone: unknown[] = []
    harness.deps.fleetEvents.sandboxGone.subscribe((end) => gone.push(end))
    await harness.fleet.connection.ensureRunning('w', patient)
    await harness.fleet.lifecycle.restart(owner, 'w')
    expect(harness.runtime.started).toHaveLength(2)
    expect(harness.fleet.connection.verifyToken(doorTokenOf(0))).toBeNull()
    expect(harness.fleet.connection.verifyToken(doorTokenOf(1))).toEqual({ agentId: 'w', token: 'door' })
    expect(gone).toEqual([{ agentId: 'w', reason: 'restarted' }])
    expect(harness.runtime.removed).toEqual([])
  })

  test('start, stop and restart in any order end in one consistent state', async () => {
    heedsLesson(61)
    harness = await aWorker()
    let seed = 7
    const next = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below
    const work = Array.from({ length: 60 }, async () => {
      for (let pause = next(5); pause > 0; pause--) await new Promise((resolve) => setImmediate(resolve))
      const choice = next(3)
      if (choice === 0) await harness.fleet.connection.ensureRunning('w', patient).catch(() => {})
      else if (choice === 1) await harness.fleet.lifecycle.stop('w', 'test').catch(() => {})
      else await harness.fleet.lifecycle.restart(owner, 'w').catch(() => {})
    })
    await Promise.all(work)
    const running = harness.runtime.isRunning('w')
    expect(stateOf(harness.fleet, 'w')).toBe(running ? 'running' : 'stopped')
    const last = harness.runtime.started.length - 1
    const live = harness.runtime.started.map(
      (_spec, index) => harness.fleet.connection.verifyToken(doorTokenOf(index)) !== null,
    )
    expect(live).toEqual(live.map((_value, index) => running && index === last))
  })

  test('a connection is given only to a sandbox that runs', async () => {
    harness = await aWorker()
    expect(await harness.fleet.connection.connectIfRunning('w')).toBeNull()
    await harness.fleet.connection.ensureRunning('w', patient)
    expect((await harness.fleet.connection.connectIfRunning('w'))?.agentId).toBe('w')
    await harness.fleet.lifecycle.stop('w', 'idle')
    expect(await harness.fleet.connection.connectIfRunning('w')).toBeNull()
    expect(await harness.fleet.connection.connectIfRunning('nobody')).toBeNull()
  })
})
