import { meshAgentEndpoints } from '@flotilla/protocol/mesh-agent-api'
import { Problem } from '@flotilla/protocol/problem'
import type { SteerMessage } from '@flotilla/protocol/steer'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { LanguageModel, PromptMessage } from '../llm/language-model.ts'
import { createScriptedModel } from '../llm/scripted-model.ts'
import type { RunMesh } from '../mesh/run-mesh.ts'
import { aState, calls, fakeTool, loopParts } from '../testing/loop-parts.ts'
import type { LoopState } from './loop-state.ts'
import { readLoopState } from './read-loop-state.ts'
import { runLoop } from './run-loop.ts'
import { dropUnacknowledged } from './apply-steers.ts'

const { signal } = new AbortController()
const word = (id: string): SteerMessage => ({ id: `steer_${id}`, from: 'your user', text: `word-${id}` })
const timesIn = (messages: readonly PromptMessage[], id: string): number =>
  messages.filter(({ content }) => content.includes(`word-${id}`)).length
const use = (id: string) => ({ toolCalls: calls([id, 'tool', '{"value":"1"}']) })

/** A mesh that records which steers were confirmed. */
function confirmingMesh(onTaken: (ids: readonly string[]) => void = () => undefined) {
  const notified: { ids: readonly string[]; step: number }[] = []
  const mesh: RunMesh = {
    call: async ({ endpoint, body }) => {
      expect(endpoint).toBe(meshAgentEndpoints.steersTaken)
      const taken = body as { ids: string[]; step: number }
      onTaken(taken.ids)
      notified.push(taken)
      return { taken: taken.ids.length }
    },
    open: () => Promise.reject(new Error('not part of this test')),
  }
  return { mesh, told: notified }
}

describe('what is said to a run at work', () => {
  test('a steer to a run at work is read before the next round as a sanitized user message, and its step is confirmed to the mesh', async () => {
    const said: SteerMessage[] = []
    const tool = fakeTool('tool', 'local', () => {
      said.push({ ...word('a'), text: 'word-a\u200B' })
      return 'ran'
    })
    const model = createScriptedModel([use('c1'), { text: 'done' }])
    const { mesh, told } = confirmingMesh()
    const state = aState()
    const { deps, checkpoints } = loopParts(model, [tool], { mesh, steers: () => said })
    expect(await runLoop(deps, state, signal)).toEqual({ kind: 'answered', text: 'done' })
    expect(model.asked[1]?.messages.at(-1)).toEqual({
      role: 'user',
      by: 'person',
      content: '[Said by your user while you work on this; take it into account and go on.]\nword-a',
    })
    expect(told).toEqual([{ ids: ['steer_a'], step: 2 }])
    const first = checkpoints
      .map((text) => JSON.parse(text) as LoopState)
      .find((one) => one.steers.length > 0)
    expect(first).toMatchObject({ steers: [{ id: 'steer_a', step: 2 }], unacknowledged: 1 })
    expect(timesIn(first?.messages ?? [], 'a')).toBe(1)
  })

  test('a steer to a run at work while the model writes its last answer makes one more round', async () => {
    const said: SteerMessage[] = []
    const model = createScriptedModel([{ text: 'first' }, { text: 'second' }])
    const answer: LanguageModel = {
      answer: (...request) => {
        if (model.asked.length === 0) said.push(word('a'))
        return model.answer(...request)
      },
    }
    const state = aState()
    const { deps } = loopParts(answer, [], { mesh: confirmingMesh().mesh, steers: () => said })
    expect(await runLoop(deps, state, signal)).toEqual({ kind: 'answered', text: 'second' })
    expect(state.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant'])
  })

  test('a steer to a run at work is left to be a run of its own when the rounds are used', async () => {
    const said: SteerMessage[] = []
    const model: LanguageModel = {
      answer: async () => {
        said.push(word('a'))
        return {
          text: 'only',
          toolCalls: [],
          tokens: 1,
          promptTokens: 0,
          answeredBy: null,
          costUsd: 0,
          cutOff: false,
        }
      },
    }
    const { mesh, told } = confirmingMesh()
    const bounds = { kind: 'task', iterationsMax: 1 } as const
    const { deps } = loopParts(model, [], { mesh, bounds, steers: () => said })
    expect(await runLoop(deps, aState(), signal)).toEqual({ kind: 'answered', text: 'only' })
    expect(told).toEqual([])
  })

  test('a steer to a run at work is part of no conversation when the mesh does not take it, and the run says why it failed', async () => {
    const refusing: RunMesh = {
      call: () => Promise.reject(new Problem('not-found', { detail: 'no such steer' })),
      open: () => Promise.reject(new Error('not part of this test')),
    }
    const model = createScriptedModel([{ text: 'never asked' }])
    const state = aState()
    const { deps } = loopParts(model, [], { mesh: refusing, steers: () => [word('a')] })
    expect(await runLoop(deps, state, signal)).toMatchObject({ kind: 'failed', code: 'not-found' })
    expect(model.asked).toEqual([])
    dropUnacknowledged(state)
    expect(state).toMatchObject({ steers: [], unacknowledged: 0 })
    expect(timesIn(state.messages, 'a')).toBe(0)
  })

  test('a steer to a run at work is read from a stored state of an earlier version as nothing', () => {
    const { steers: _steers, unacknowledged: _unacknowledged, ...old } = aState()
    expect(readLoopState(JSON.parse(JSON.stringify(old)))).toMatchObject({ steers: [], unacknowledged: 0 })
    const odd = { ...old, steers: [{ id: 'steer_a', step: 1 }, 7], unacknowledged: 9 }
    expect(readLoopState(JSON.parse(JSON.stringify(odd)))).toMatchObject({
      steers: [{ id: 'steer_a', step: 1 }],
      unacknowledged: 1,
    })
  })
})

class Killed extends Error {}

/**
 * Executes one run over several attempts, each killed and resumed from the disk. A kill can happen around
 * everything that persists: just before and just after a checkpoint, the mesh's row, and an answer of the model.
 */
async function playLives(
  kills: readonly number[],
  arrivals: ReadonlyMap<number, string>,
  sendsTakenAgain = true,
) {
  let disk = JSON.stringify(aState())
  const taken = new Set<string>()
  const said: SteerMessage[] = []
  const requests: (readonly PromptMessage[])[] = []
  let moments = 0

  async function live(killAt: number): Promise<LoopState> {
    const controller = new AbortController()
    let moment = 0
    const maybeKilled = (): void => {
      moments += 1
      moment += 1
      if (moment !== killAt) return
      controller.abort(new Killed())
      throw new Killed()
    }
    const model: LanguageModel = {
      answer: async ({ messages }) => {
        maybeKilled()
        requests.push(messages)
        for (const { id } of said) {
          const times = timesIn(messages, id.slice('steer_'.length))
          expect(times).toBeLessThan(2)
          // S2: what the model reads was confirmed to the mesh.
          if (times === 1) expect(taken).toContain(id)
        }
        const round = messages.filter(({ role }) => role === 'assistant').length
        const arrived = arrivals.get(round)
        if (arrived !== undefined && !said.some(({ id }) => id === `steer_${arrived}`))
          said.push(word(arrived))
        maybeKilled()
        const toolCalls = round < 2 ? calls([`c${round}`, 'tool', '{"value":"1"}']) : []
        return {
          text: round < 2 ? '' : `answer ${round}`,
          toolCalls,
          tokens: 1,
          promptTokens: 0,
          answeredBy: null,
          costUsd: 0,
          cutOff: false,
        }
      },
    }
    const mesh: RunMesh = {
      call: async ({ body }) => {
        maybeKilled()
        for (const id of (body as { ids: string[] }).ids) taken.add(id)
        maybeKilled()
        return null
      },
      open: () => Promise.reject(new Error('not part of this test')),
    }
    const kept = new Set(sendsTakenAgain ? [] : taken)
    const state = readLoopState(JSON.parse(disk))
    if (!state) throw new Error('the checkpoint cannot be read')
    const { deps } = loopParts(model, [fakeTool('tool', 'none')], {
      mesh,
      steers: () => said.filter(({ id }) => !kept.has(id)),
      saveCheckpoint: async (now) => {
        maybeKilled()
        disk = JSON.stringify(now)
        maybeKilled()
      },
    })
    expect(await runLoop(deps, state, controller.signal)).toMatchObject({ kind: 'answered' })
    return state
  }

  for (const killAt of kills) {
    try {
      return { state: await live(killAt), said, taken, moments }
    } catch (error) {
      if (!(error instanceof Killed)) throw error
    }
  }
  return { state: await live(0), said, taken, moments }
}

function expectReadOnce({ state, said, taken }: Awaited<ReturnType<typeof playLives>>): void {
  for (const { id } of said) {
    expect([id, timesIn(state.messages, id.slice('steer_'.length)), taken.has(id)]).toEqual([id, 1, true])
  }
  expect(state.steers.map((steer) => steer.id)).toEqual([...new Set(state.steers.map((steer) => steer.id))])
}

describe('a run that is killed', () => {
  const arrivals = new Map([
    [0, 'a'],
    [1, 'b'],
    [2, 'c'],
  ])

  test.each([
    ['is sent again what it had taken', true],
    ['has what it had taken from its disk alone', false],
  ])(
    'a run that is killed at each moment of it reads each steer once where it %s',
    async (_name, sendsTakenAgain) => {
      const whole = await playLives([], arrivals)
      expect(whole.said).toHaveLength(3)
      expect(whole.moments).toBeGreaterThan(25)
      for (let killAt = 1; killAt <= whole.moments; killAt++) {
        const played = await playLives([killAt], arrivals, sendsTakenAgain)
        expect(played.said).toHaveLength(3)
        expectReadOnce(played)
      }
    },
  )

  test('a run that is killed again and again, with words at any time, reads each once', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 6 }),
        fc.uniqueArray(fc.integer({ min: 0, max: 4 }), { maxLength: 5 }),
        fc.boolean(),
        async (kills, rounds, again) => {
          const arriving = new Map(rounds.map((round) => [round, `r${round}`]))
          const played = await playLives(kills, arriving, again)
          expectReadOnce(played)
          expect(played.state.unacknowledged).toBe(0)
        },
      ),
      { numRuns: 300 },
    )
  })
})
