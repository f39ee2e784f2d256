import type { IsolationRung } from '@flotilla/protocol/isolation'
import type { JsonValue } from '@flotilla/protocol/json-value'
import { Problem } from '@flotilla/protocol/problem'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { heedsLesson } from '../../../../../tests/verifies.ts'
import { aFleet, aWorker, owner, patient, reasonOf, stateOf } from '../../testing/fleet-harness.ts'
import type { FleetHarness } from '../../testing/fleet-harness.ts'

let world: FleetHarness
const idle = () => ({ busy: false, queued: 0, waiting: 0, costTodayUsd: 0, pausedReason: null })
afterEach(() => world.close())

const doorTokenOf = (start: number) => world.runtime.doorTokens[start] ?? ''
const programTokenOf = (start: number) => world.runtime.started[start]?.environment['OPENAI_API_KEY'] ?? ''

function promiseGate(): { readonly passed: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { passed: promise, open: resolve }
}

describe('starting an agent', () => {
  test('the sandbox is told who it is, where the API is and nothing secret but its program token', async () => {
    world = await aWorker()
    await world.fleet.connection.ensureRunning('w', patient)
    const spec = world.runtime.started[0]
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
      FLOTILLA_MESH_PUBLIC_KEY: world.deps.meshIdentity.publicKeyBase64url,
      FLOTILLA_INITIAL_INSTRUCTIONS: '',
      FLOTILLA_MAX_ITERATIONS: '20',
      OPENAI_BASE_URL: 'http://127.0.0.1:8420/v1',
      OPENAI_API_KEY: programTokenOf(0),
      ANTHROPIC_BASE_URL: 'http://127.0.0.1:8420',
      ANTHROPIC_API_KEY: programTokenOf(0),
    })
    expect(world.fleet.connection.verifyToken(doorTokenOf(0))).toEqual({ agentId: 'w', token: 'door' })
    expect(world.fleet.connection.verifyToken(programTokenOf(0))).toEqual({ agentId: 'w', token: 'program' })
    expect(JSON.stringify(spec?.environment)).not.toContain(doorTokenOf(0))
  })

  test('agents that start together are each told their own', async () => {
    heedsLesson(66)
    world = await aFleet()
    for (const id of ['w', 'v']) await world.fleet.admin.create(owner, { id, role: 'r', instructions: '' })
    await Promise.all(['w', 'v'].map((id) => world.fleet.connection.ensureRunning(id, patient)))
    for (const { agentId, environment } of world.runtime.started) {
      expect(environment['FLOTILLA_AGENT_ID']).toBe(agentId)
      const token = environment['OPENAI_API_KEY'] ?? ''
      expect(world.fleet.connection.verifyToken(token)).toEqual({ agentId, token: 'program' })
    }
  })

  test('it is announced with the time it took', async () => {
    world = await aWorker()
    await world.fleet.connection.ensureRunning('w', patient)
    expect(world.events).toContainEqual({ type: 'agent.started', agent_id: 'w', ready_ms: 0 })
    expect(stateOf(world.fleet, 'w')).toBe('running')
  })

  test('fifty callers share one start', async () => {
    world = await aWorker()
    const lines = await Promise.all(
      Array.from({ length: 50 }, () => world.fleet.connection.ensureRunning('w', patient)),
    )
    expect(world.runtime.started).toHaveLength(1)
    expect(await Promise.all(lines.map((line) => line.healthy(patient)))).not.toContain(false)
  })

  test('fifty callers share one failure', async () => {
    world = await aWorker()
    world.runtime.beforeStart = () => Promise.reject(new Error('no image'))
    const reasons = await Promise.all(
      Array.from({ length: 50 }, () => reasonOf(world.fleet.connection.ensureRunning('w', patient))),
    )
    expect(world.runtime.started).toHaveLength(1)
    expect(reasons.filter((reason) => reason.includes('no image'))).toHaveLength(50)
  })

  test('a caller that gives up leaves the start to the others', async () => {
    world = await aWorker()
    const gate = promiseGate()
    world.runtime.beforeStart = () => gate.passed
    const hasty = new AbortController()
    const gaveUp = world.fleet.connection.ensureRunning('w', hasty.signal)
    const stays = world.fleet.connection.ensureRunning('w', patient)
    hasty.abort(new Error('no time'))
    await expect(gaveUp).rejects.toThrow('no time')
    gate.open()
    expect((await stays).agentId).toBe('w')
    expect(world.runtime.started).toHaveLength(1)
  })

  test('a caller whose time is up is told that the agent is still being started', async () => {
    world = await aWorker()
    const gate = promiseGate()
    world.runtime.beforeStart = () => gate.passed
    await expect(world.fleet.connection.ensureRunning('w', AbortSignal.timeout(5))).rejects.toMatchObject({
      code: 'agent-unavailable',
      detail: 'agent w is still being started',
    })
    gate.open()
    expect((await world.fleet.connection.ensureRunning('w', patient)).agentId).toBe('w')
  })

  test('an agent that starts does not keep another waiting', async () => {
    world = await aWorker()
    await world.fleet.admin.create(owner, { id: 'x', role: 'x' })
    const gate = promiseGate()
    world.runtime.beforeStart = (spec) => (spec.agentId === 'w' ? gate.passed : Promise.resolve())
    const slow = world.fleet.connection.ensureRunning('w', patient)
    await world.fleet.connection.ensureRunning('x', patient)
    expect(stateOf(world.fleet, 'w')).toBe('starting')
    gate.open()
    await slow
  })

  test('nobody reaches it before it has its own processor share and no more', async () => {
    world = await aWorker()
    const gate = promiseGate()
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
    world.runtime.beforeHold = () => (ask(), gate.passed)
    let isReached = false
    const reached = world.fleet.connection.ensureRunning('w', patient).then(() => (isReached = true))
    await asked
    for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve))
    expect([isReached, stateOf(world.fleet, 'w')]).toEqual([false, 'starting'])
    expect(await world.fleet.connection.connectIfRunning('w')).toBeNull()
    gate.open()
    await reached
    await world.fleet.lifecycle.stop('w', 'idle')
    await world.fleet.connection.ensureRunning('w', patient)
    expect(world.runtime.held).toEqual(['w', 'w'])
  })

  test('the briefing is there before the sandbox, readable by any user', async () => {
    world = await aWorker()
    let brief = ''
    world.runtime.beforeStart = async (spec) => {
      brief = await readFile(join(spec.briefingDirectory, 'SYSTEM.md'), 'utf8')
      expect((await stat(spec.briefingDirectory)).mode & 0o777).toBe(0o755)
      expect((await stat(join(spec.briefingDirectory, 'PROJECT.md'))).mode & 0o777).toBe(0o644)
    }
    await world.fleet.connection.ensureRunning('w', patient)
    expect(brief).toContain('`w`, a worker')
  })

  test('ids that differ by one sign have briefings of their own', async () => {
    world = await aFleet()
    for (const id of ['a-b', 'a_b', 'A-b']) {
      await world.fleet.admin.create(owner, { id, role: id })
      await world.fleet.connection.ensureRunning(id, patient)
    }
    const folders = world.runtime.started.map((spec) => spec.briefingDirectory.toLowerCase())
    expect(new Set(folders).size).toBe(3)
  })
})

describe('a start that fails', () => {
  test('leaves no token, no process and says why, with what was printed last', async () => {
    world = await aWorker()
    world.runtime.beforeStart = () => Promise.reject(new Error('no image'))
    await expect(world.fleet.connection.ensureRunning('w', patient)).rejects.toMatchObject({
      code: 'agent-unavailable',
    })
    const view = world.fleet.registry.viewOf('w', () => ({
      busy: false,
      queued: 0,
      waiting: 0,
      costTodayUsd: 0,
      pausedReason: null,
    }))
    expect(view).toMatchObject({ state: 'restarting' })
    expect(view.last_error).toMatch(/no image.*no such model/s)
    expect(view.last_error).not.toContain('\u001B')
    expect(world.fleet.connection.verifyToken(doorTokenOf(0))).toBeNull()
    expect(world.fleet.connection.verifyToken(programTokenOf(0))).toBeNull()
    expect(world.runtime.isRunning('w')).toBe(false)
  })

  test('an agent that never answers is given up after a minute', async () => {
    world = await aWorker()
    world.runtime.mute.add('w')
    const before = world.clock.now()
    await expect(world.fleet.connection.ensureRunning('w', patient)).rejects.toThrow(
      'did not answer within 60 s',
    )
    expect(world.clock.now() - before).toBeGreaterThanOrEqual(60_000)
    expect(world.clock.now() - before).toBeLessThan(62_000)
    expect(world.runtime.isRunning('w')).toBe(false)
  })

  test('an agent that cannot be held to its processor share is not started', async () => {
    world = await aWorker()
    world.runtime.beforeHold = () => Promise.reject(new Error('the engine refused'))
    await expect(world.fleet.connection.ensureRunning('w', patient)).rejects.toThrow('the engine refused')
    expect([world.runtime.isRunning('w'), stateOf(world.fleet, 'w')]).toEqual([false, 'restarting'])
  })

  test('a process that ends at once is noticed long before the minute is over', async () => {
    world = await aWorker()
    world.runtime.mute.add('w')
    const before = world.clock.now()
    const failed = reasonOf(world.fleet.connection.ensureRunning('w', patient))
    while (!world.runtime.isRunning('w')) await new Promise((resolve) => setImmediate(resolve))
    await world.runtime.kill('w', 3)
    expect(await failed).toContain('ended with code 3')
    expect(world.clock.now() - before).toBeLessThan(20_000)
    expect(world.events.map((event) => event.type)).not.toContain('agent.died')
  })

  test('is not the end: the next caller starts it again', async () => {
    world = await aWorker()
    world.runtime.beforeStart = () => Promise.reject(new Error('no image'))
    await expect(world.fleet.connection.ensureRunning('w', patient)).rejects.toThrow('no image')
    world.runtime.beforeStart = async () => {}
    await world.fleet.connection.ensureRunning('w', patient)
    expect(stateOf(world.fleet, 'w')).toBe('running')
  })

  test('an agent without any model is refused before anything is made', async () => {
    world = await aWorker({ defaultModel: () => null })
    await expect(world.fleet.connection.ensureRunning('w', patient)).rejects.toMatchObject({
      code: 'not-configured',
    })
    expect(world.runtime.started).toHaveLength(0)
    expect(stateOf(world.fleet, 'w')).toBe('created')
  })

  test('a wall that does not hold starts nothing', async () => {
    let hold = true
    world = await aWorker({ isolation: { hold: () => hold } })
    await world.fleet.connection.ensureRunning('w', patient)
    hold = false
    await expect(world.fleet.connection.ensureRunning('w', patient)).rejects.toMatchObject({
      code: 'fleet-paused',
    })
    await expect(world.fleet.lifecycle.restart(owner, 'w')).rejects.toMatchObject({ code: 'fleet-paused' })
    expect(world.runtime.started).toHaveLength(1)
  })

  test('an agent whose isolation cannot be had is refused before anything is made', async () => {
    const refused = new Problem('isolation-unavailable', { detail: 'gvisor is required' })
    world = await aWorker({
      placing: {
        wishOf: () => ({ wanted: 'gvisor', floor: 'gvisor' }),
        place: () => Promise.reject(refused),
        lacking: () => 'gvisor is required',
        doubt: () => {},
        adopted: () => {},
      },
    })
    await expect(world.fleet.connection.ensureRunning('w', patient)).rejects.toBe(refused)
    expect(world.runtime.started).toHaveLength(0)
    expect(stateOf(world.fleet, 'w')).toBe('created')
    expect(world.fleet.registry.viewOf('w', idle).isolation).toEqual({
      wanted: 'gvisor',
      required: 'gvisor',
      runs_on: null,
      fallback: 'gvisor is required',
    })
  })

  test('an agent that does not exist is unknown', async () => {
    world = await aFleet()
    await expect(world.fleet.connection.ensureRunning('w', patient)).rejects.toMatchObject({
      code: 'unknown-agent',
    })
  })
})

describe('the isolation of an agent', () => {
  const fallback = 'gvisor cannot be had: runsc is not installed'

  test('that fell back is told in event and journal, and does not start it again', async () => {
    world = await aWorker({
      placing: {
        wishOf: () => ({ wanted: 'gvisor', floor: 'container' }),
        place: async () => ({ rung: 'container', fallback }),
        lacking: () => null,
        doubt: () => {},
        adopted: () => {},
      },
    })
    await world.fleet.connection.ensureRunning('w', patient)
    await world.fleet.connection.ensureRunning('w', patient)
    expect(world.runtime.started.map(({ isolation }) => isolation)).toEqual(['container'])
    const message = `it runs on container and not on gvisor: ${fallback}`
    expect(world.events).toContainEqual({ type: 'agent.warned', agent_id: 'w', message })
    expect(world.journal).toContainEqual(
      expect.objectContaining({ action: 'agent.warned', detail: { message } }),
    )
  })

  test('on which a start failed is doubted, so that the same start may fall back', async () => {
    let broken = false
    world = await aWorker({
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
    world.runtime.beforeStart = async ({ isolation }) => {
      if (isolation === 'gvisor') throw new Error('runsc is gone')
    }
    await world.fleet.connection.ensureRunning('w', patient)
    expect(world.fleet.registry.viewOf('w', idle)).toMatchObject({ state: 'running' })
    expect(world.runtime.started.at(-1)?.isolation).toBe('container')
    const message = `it runs on container and not on gvisor: ${fallback}`
    expect(world.events).toContainEqual({ type: 'agent.warned', agent_id: 'w', message })
  })

  test('on which a start failed though it can be had is no reason to run on less', async () => {
    const rungs: IsolationRung[] = []
    world = await aWorker({
      placing: {
        wishOf: () => ({ wanted: 'gvisor', floor: 'container' }),
        place: async () => ({ rung: 'gvisor', fallback: null }),
        lacking: () => null,
        adopted: () => {},
        doubt: (rung) => void rungs.push(rung),
      },
    })
    world.runtime.beforeStart = async () => {
      throw new Error('it had a bad day')
    }
    await expect(world.fleet.connection.ensureRunning('w', patient)).rejects.toThrow('it had a bad day')
    expect(rungs).toEqual(['gvisor'])
    expect(world.runtime.started.map(({ isolation }) => isolation)).not.toContain('container')
  })

  test('that is wished otherwise counts from its next run on, and outlives the mesh', async () => {
    let wanted: IsolationRung = 'container'
    const adopted: IsolationRung[] = []
    world = await aWorker({
      placing: {
        wishOf: () => ({ wanted, floor: 'container' }),
        place: async (wish) => ({ rung: wish.wanted, fallback: null }),
        lacking: () => null,
        doubt: () => {},
        adopted: (rung) => void adopted.push(rung),
      },
    })
    await world.fleet.connection.ensureRunning('w', patient)
    wanted = 'gvisor'
    expect(world.runtime.started).toHaveLength(1)
    await world.fleet.connection.ensureRunning('w', patient)
    expect(world.runtime.started.map(({ isolation }) => isolation)).toEqual(['container', 'gvisor'])
    const next = world.again()
    await next.lifecycle.reconcile()
    expect(adopted).toEqual(['gvisor'])
    await next.connection.ensureRunning('w', patient)
    expect(world.runtime.started).toHaveLength(2)
  })
})

describe('stopping and restarting', () => {
  test('a stop ends the tokens and the process', async () => {
    world = await aWorker()
    await world.fleet.connection.ensureRunning('w', patient)
    await world.fleet.lifecycle.stop('w', 'idle')
    expect(world.fleet.connection.verifyToken(doorTokenOf(0))).toBeNull()
    expect(world.runtime.isRunning('w')).toBe(false)
    expect(world.events.at(-1)).toEqual({ type: 'agent.stopped', agent_id: 'w', reason: 'idle' })
    await world.fleet.lifecycle.stop('w', 'again')
    expect(world.events.filter((event) => event.type === 'agent.stopped')).toHaveLength(1)
  })

  test('a stop during a start breaks it off, and nothing is left of either', async () => {
    heedsLesson(62)
    world = await aWorker()
    world.runtime.mute.add('w')
    const started = reasonOf(world.fleet.connection.ensureRunning('w', patient))
    while (!world.runtime.isRunning('w')) await new Promise((resolve) => setImmediate(resolve))
    await world.fleet.lifecycle.stop('w', 'not needed')
    expect(await started).toContain('not needed')
    expect(world.runtime.isRunning('w')).toBe(false)
    expect(stateOf(world.fleet, 'w')).toBe('stopped')
    expect(world.fleet.connection.verifyToken(doorTokenOf(0))).toBeNull()
  })

  test('a caller after a stop that waits gets a start of its own', async () => {
    world = await aWorker()
    const gate = promiseGate()
    world.runtime.beforeStart = () => gate.passed
    const first = reasonOf(world.fleet.connection.ensureRunning('w', patient))
    const stopped = world.fleet.lifecycle.stop('w', 'not needed')
    const second = world.fleet.connection.ensureRunning('w', patient)
    gate.open()
    expect(await first).toContain('not needed')
    await stopped
    expect(await (await second).healthy(patient)).toBe(true)
    expect(stateOf(world.fleet, 'w')).toBe('running')
    expect(
      world.fleet.connection.verifyToken(programTokenOf(world.runtime.started.length - 1)),
    ).not.toBeNull()
  })

  test.each(['restart', 'stop'] as const)(
    'a %s that was cut off ends the sandbox that it was to end, and none that was started since',
    async (way) => {
      world = await aWorker()
      const { fleet, runtime } = world
      const cutOff = async (begun: JsonValue): Promise<JsonValue> => {
        let mark: JsonValue = begun
        const step = { begun, begin: (next: JsonValue) => void (mark = next) }
        if (way === 'restart') await fleet.lifecycle.restart(owner, 'w', step)
        else await fleet.lifecycle.stop('w', 'asked', step)
        return mark
      }
      await fleet.connection.ensureRunning('w', patient)
      // Cut off right after it was begun: nothing was ended yet.
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

  test('a restart ends the old tokens, keeps the data and tells who listens', async () => {
    world = await aWorker()
    const gone: unknown[] = []
    world.deps.hooks.sandboxGone.subscribe((end) => gone.push(end))
    await world.fleet.connection.ensureRunning('w', patient)
    await world.fleet.lifecycle.restart(owner, 'w')
    expect(world.runtime.started).toHaveLength(2)
    expect(world.fleet.connection.verifyToken(doorTokenOf(0))).toBeNull()
    expect(world.fleet.connection.verifyToken(doorTokenOf(1))).toEqual({ agentId: 'w', token: 'door' })
    expect(gone).toEqual([{ agentId: 'w', reason: 'restarted' }])
    expect(world.runtime.removed).toEqual([])
  })

  test('start, stop and restart in any order end with one truth', async () => {
    heedsLesson(61)
    world = await aWorker()
    let seed = 7
    const next = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below
    const work = Array.from({ length: 60 }, async () => {
      for (let pause = next(5); pause > 0; pause--) await new Promise((resolve) => setImmediate(resolve))
      const choice = next(3)
      if (choice === 0) await world.fleet.connection.ensureRunning('w', patient).catch(() => {})
      else if (choice === 1) await world.fleet.lifecycle.stop('w', 'test').catch(() => {})
      else await world.fleet.lifecycle.restart(owner, 'w').catch(() => {})
    })
    await Promise.all(work)
    const running = world.runtime.isRunning('w')
    expect(stateOf(world.fleet, 'w')).toBe(running ? 'running' : 'stopped')
    const last = world.runtime.started.length - 1
    const live = world.runtime.started.map(
      (_spec, index) => world.fleet.connection.verifyToken(doorTokenOf(index)) !== null,
    )
    expect(live).toEqual(live.map((_value, index) => running && index === last))
  })

  test('a connection is given only to a sandbox that runs', async () => {
    world = await aWorker()
    expect(await world.fleet.connection.connectIfRunning('w')).toBeNull()
    await world.fleet.connection.ensureRunning('w', patient)
    expect((await world.fleet.connection.connectIfRunning('w'))?.agentId).toBe('w')
    await world.fleet.lifecycle.stop('w', 'idle')
    expect(await world.fleet.connection.connectIfRunning('w')).toBeNull()
    expect(await world.fleet.connection.connectIfRunning('nobody')).toBeNull()
  })
})
