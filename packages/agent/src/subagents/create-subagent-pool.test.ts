import { describe, expect, test } from 'vitest'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { verifies } from '../../../../tests/verifies.ts'
import { provenanceOf } from '../loop/run-provenance.ts'
import { subagentHarness, lastResult, lastSaid, never, uses } from '../testing/subagent-harness.ts'
import { fakeTool } from '../testing/loop-parts.ts'
import { systemClock } from '../system-clock.ts'
import { toolOutputMaxChars } from '../tools/execute-tool-call.ts'

const spawn = (goal: string, more: object = {}) => ['spawn_subagent', { goal, ...more }] as const
const wait = (input: object = {}) => ['wait_for_subagent', input] as const
const list = ['list_subagents', {}] as const
const human = { kind: 'human', channel: 'cli' } as const

describe('a pool of sub-agents', () => {
  test('a pool of sub-agents works at the same time, three at once, and its results come back', async () => {
    verifies('limits:subagents:concurrent')
    let atWork = 0
    let most = 0
    const listed = Promise.withResolvers<undefined>()
    const harness = subagentHarness(async (thought) => {
      if (thought.goal === 'lead') {
        if (thought.turn === 0) return uses(spawn('a'), spawn('b'), spawn('c'), spawn('d'))
        if (thought.turn === 1) return uses(list)
        if (thought.turn > 2) return { text: lastResult(thought) }
        listed.resolve(undefined)
        return uses(wait())
      }
      most = Math.max(most, (atWork += 1))
      await listed.promise
      atWork -= 1
      return { text: `${thought.goal} is done` }
    })
    const end = await harness.run()
    expect(most).toBe(3)
    const [, , , fourth, shown] = harness.state.toolOutputs
    expect(fourth).toMatchObject({ ok: false })
    expect(fourth?.output).toContain('at most 3 run at once')
    expect(fourth?.output).toContain('wait_for_subagent')
    const seen = JSON.parse(shown?.output ?? '') as { subagents: object[]; may_begin: number }
    expect(seen).toMatchObject({ may_begin: 0 })
    expect(seen.subagents.map((one) => ({ ...one, id: '' }))).toMatchObject(
      ['a', 'b', 'c'].map((goal) => ({ id: '', goal, state: 'running', rounds: 0, ttl_seconds: 300 })),
    )
    const { ended } = JSON.parse(end.kind === 'answered' ? end.text : '') as { ended: object[] }
    expect(ended).toMatchObject(
      ['a', 'b', 'c'].map((goal) => ({ goal, state: 'complete', result: `${goal} is done`, tokens: 10 })),
    )
    expect(harness.goals()).toEqual(['lead', 'a', 'b', 'c'])
    // A sub-agent reads the time behind its goal: its instructions, which all sub-agents share, have none.
    const asked = harness.model.thoughts.find(({ goal }) => goal === 'a')?.request.messages[1]?.content
    expect(asked).toMatch(/^a\n\n\[It is [^\]]+ UTC\.\]$/)
  })

  test('a pool of sub-agents has room again as soon as one has ended', async () => {
    const harness = subagentHarness(({ goal, turn }) => {
      if (goal !== 'lead') return goal === 'quick' ? { text: 'quick is done' } : never()
      if (turn === 0) return uses(spawn('slow'), spawn('quick'), spawn('slower'))
      if (turn === 1) return uses(wait({ until: 'first' }))
      if (turn === 2) return uses(spawn('next'))
      return { text: 'enough' }
    })
    await harness.run()
    const outputs = harness.state.toolOutputs.map(({ output, ok }) => ({ output, ok }))
    expect(outputs[3]?.output).toContain('quick is done')
    expect(outputs[3]?.output).toContain('still_running')
    expect(outputs[4]?.ok).toBe(true)
  })

  test('a pool of sub-agents reaches the second depth and ends there: a grandchild answers, and has no tool to begin any', async () => {
    verifies('limits:subagents:depth')
    const harness = subagentHarness((thought) => {
      const { goal, turn } = thought
      if (goal === 'grandchild') return turn === 0 ? uses(spawn('too deep')) : { text: 'from the depth' }
      if (turn === 0) return uses(spawn(goal === 'lead' ? 'child' : 'grandchild'))
      return turn === 1 ? uses(wait()) : { text: lastResult(thought) }
    })
    const end = await harness.run()
    expect(JSON.stringify(end)).toContain('from the depth')
    expect(harness.goals()).toEqual(['lead', 'child', 'grandchild'])
    const deepest = harness.model.thoughts.filter(({ goal }) => goal === 'grandchild')
    expect(lastResult(deepest[1]!)).toContain('There is no such tool') // it has two turns
    const offered = (goal: string) =>
      harness.model.thoughts.find((one) => one.goal === goal)?.request.tools.map(({ name }) => name)
    expect(offered('child')).toContain('spawn_subagent')
    expect(offered('grandchild')).not.toContain('spawn_subagent')
  })

  test('a pool of sub-agents asks its model ten times at most, the last time for words', async () => {
    verifies('limits:subagents:iterations')
    const tool = fakeTool('tool', 'none')
    const harness = subagentHarness(
      (thought) => {
        if (thought.goal !== 'lead')
          return thought.request.mayCallTools
            ? uses(['tool', { value: String(thought.turn) }])
            : { text: 'out of rounds' }
        if (thought.turn === 0) return uses(spawn('endless'))
        return thought.turn === 1 ? uses(wait()) : { text: lastResult(thought) }
      },
      [tool],
    )
    const end = await harness.run()
    expect(harness.model.thoughts.filter(({ goal }) => goal === 'endless')).toHaveLength(10)
    expect(tool.keys).toHaveLength(9)
    expect(JSON.stringify(end)).toContain('out of rounds')
  })

  test('a pool of sub-agents has the parent’s tools, but none to extend the agent or to end its parent’s work', async () => {
    verifies('limits:subagents:no-skills')
    const kept = ['create_skill', 'reload_skills', 'complete_task', 'hand_off', 'update_workspace']
    const names = ['tool', ...kept, 'steer_agent', 'read_signals', 'delete_agent']
    const harness = subagentHarness(
      ({ goal, turn }) => (goal === 'lead' && turn === 0 ? uses(spawn('child')) : { text: 'done' }),
      names.map((name) => fakeTool(name, 'none')),
    )
    await harness.run()
    const child = harness.model.thoughts.find(({ goal }) => goal === 'child')
    expect(child?.request.tools.map(({ name }) => name)).toEqual([
      'list_subagents',
      'spawn_subagent',
      'tool',
      'wait_for_subagent',
    ])
  })

  test('a pool of sub-agents lives 300 seconds by default, and 600 at most', async () => {
    verifies('limits:subagents:ttl-default', 'limits:subagents:ttl-max')
    const clock = createManualClock()
    const harness = subagentHarness(
      (thought) => {
        if (thought.goal !== 'lead') return never()
        if (thought.turn === 0)
          return uses(spawn('usual'), spawn('long', { ttl_seconds: 600 }), spawn('x', { ttl_seconds: 601 }))
        if (thought.turn < 3) return uses(wait({ timeout_seconds: 600, until: 'first' }))
        return { text: lastResult(thought) }
      },
      [],
      { clock },
    )
    const running = harness.run()
    const states = () =>
      harness.state.toolOutputs.slice(3).map(({ output }) => /"state": "(\w+)"/.exec(output)?.[1])
    while (harness.model.thoughts.length < 4) await systemClock.sleep(1)
    await clock.advance(299_000)
    expect(states()).toEqual([])
    for (let tries = 0; tries < 50 && states().length === 0; tries++) await clock.advance(100)
    expect(states()).toEqual(['timeout'])
    expect(clock.now() - harness.state.startedAt).toBeGreaterThan(300_000)
    while (harness.model.thoughts.length < 5) await systemClock.sleep(1)
    await clock.advance(295_000 - 5000)
    expect(states()).toHaveLength(1)
    for (let tries = 0; tries < 300 && states().length === 1; tries++) await clock.advance(100)
    expect(states()).toEqual(['timeout', 'timeout'])
    await running
    expect(harness.state.toolOutputs[2]?.output).toContain(
      '`ttl_seconds`: expected a whole number from 1 to 600',
    )
  })
})

describe('the end of a parent', () => {
  test.each(['stopped', 'failed', 'answered'] as const)(
    'the end of a parent that is %s ends all its sub-agents, and no model is called afterwards',
    async (how) => {
      const harness = subagentHarness(({ goal, turn }) => {
        if (goal === 'child') return turn === 0 ? uses(spawn('grandchild')) : never()
        if (goal === 'grandchild') return never()
        if (turn === 0) return uses(spawn('child'), spawn('child'))
        if (how === 'stopped') return uses(wait())
        return { text: how === 'failed' ? '' : 'I am done' }
      })
      const running = harness.run().catch((error: unknown) => error)
      if (how === 'stopped') {
        while (harness.model.thoughts.length < 8) await systemClock.sleep(1)
        harness.stop()
      }
      await running
      const asked = harness.model.thoughts.length
      expect(
        harness.model.thoughts.filter(({ goal }) => goal !== 'lead').every(({ signal }) => signal.aborted),
      ).toBe(true)
      await systemClock.sleep(30)
      expect(harness.model.thoughts).toHaveLength(asked)
    },
  )

  test('the end of a parent is informed of unread results, once, before it ends', async () => {
    const harness = subagentHarness((thought) => {
      if (thought.goal !== 'lead') return never()
      if (thought.turn === 0) return uses(spawn('look for it'))
      return { text: `answer ${thought.turn}` }
    })
    expect(await harness.run()).toEqual({ kind: 'answered', text: 'answer 2' })
    const last = harness.model.thoughts.findLast(({ goal }) => goal === 'lead')
    expect(last && lastSaid(last)).toContain('sub_2 (still running): look for it')
  })

  test('the end of a parent by complete_task is held back once for the same words', async () => {
    const complete = fakeTool('complete_task', 'mesh')
    const harness = subagentHarness(
      ({ goal, turn }) => {
        if (goal !== 'lead') return never()
        if (turn === 0) return uses(spawn('look for it'))
        return turn < 3 ? uses(['complete_task', { value: 'x' }]) : { text: 'done' }
      },
      [complete],
    )
    await harness.run()
    const [, first, second] = harness.state.toolOutputs
    expect(first?.output).toContain('sub_2 (still running)')
    expect(second?.output).toBe('ran x')
    expect(complete.keys).toHaveLength(1)
  })
})

describe('a run that goes on after a crash', () => {
  test('a run that goes on after a crash is informed that the outcome of its sub-agents is unknown, and none is started again', async () => {
    const first = subagentHarness(({ goal, turn }) => {
      if (goal !== 'lead') return goal === 'read' ? { text: 'read it' } : never()
      if (turn === 0) return uses(spawn('read'), spawn('gone'))
      return turn === 1 ? uses(wait({ ids: ['sub_2'] })) : never()
    })
    const cut = first.run().catch(() => undefined)
    while (first.model.thoughts.length < 5) await systemClock.sleep(1)
    const kept = JSON.parse(first.checkpoints.at(-1) ?? '') as object
    first.stop()
    await cut

    const second = subagentHarness((thought) => {
      if (thought.turn === 2) return uses(wait({ ids: ['sub_3'] }), list)
      return { text: lastResult(thought) }
    })
    Object.assign(second.state, kept)
    const end = await second.run()
    const words = lastSaid(second.model.thoughts[0]!) // it is asked at once
    expect(words).toContain('sub_3: gone')
    expect(words).not.toContain('sub_2')
    expect(words).toContain('outcome is unknown')
    expect(second.state.toolOutputs.at(-2)?.output).toContain('"outcome_unknown"')
    expect(JSON.stringify(end)).toContain('sub_3')
    expect(second.goals()).toEqual(['lead'])
  })
})

describe('what sub-agents use', () => {
  test('what sub-agents use is the use of their parents at once, and a parent’s cap stops them all', async () => {
    const tool = fakeTool('tool', 'none')
    const harness = subagentHarness(
      ({ goal, turn }) => {
        if (goal === 'lead') return turn === 0 ? uses(spawn('a'), spawn('b')) : uses(wait())
        if (goal === 'a' && turn === 0) return { ...uses(spawn('c')), tokens: 100 }
        return { ...uses(['tool', { value: String(turn) }]), tokens: 100 }
      },
      [tool],
      { spending: { maxTokens: 1000, maxCostUsd: 10 } },
    )
    const end = await harness.run()
    expect(end).toMatchObject({ kind: 'failed', code: 'budget-exhausted' })
    const spent = harness.model.thoughts.map(({ goal }) => (goal === 'lead' ? 10 : 100))
    expect(harness.state.tokens).toBe(spent.reduce((sum, one) => sum + one, 0))
    // Three may have been running when the last token was used.
    expect(harness.state.tokens).toBeLessThan(1000 + 300)
    const asked = harness.model.thoughts.filter(({ goal }) => goal !== 'lead')
    expect(asked.every(({ request }) => (request.answerTokensMax ?? Infinity) <= 1000)).toBe(true)
  })

  test('what sub-agents use is sent to the mesh with keys of their own', async () => {
    const tool = fakeTool('tool', 'mesh')
    const harness = subagentHarness(
      ({ goal, turn }) => {
        if (goal === 'lead' && turn === 0) return uses(spawn('a'), spawn('b'))
        if (goal === 'a' && turn === 0) return uses(spawn('c'))
        if (goal !== 'lead' && turn < 2) return uses(['tool', { value: 'x' }])
        return goal === 'c'
          ? { text: 'done' }
          : turn < 4
            ? uses(wait({ timeout_seconds: 5 }))
            : { text: 'done' }
      },
      [tool],
    )
    await harness.run()
    expect(new Set(tool.keys).size).toBe(tool.keys.length)
    expect(tool.keys.toSorted()).toEqual([
      'run_1:sub_2:4',
      'run_1:sub_2:sub_2:2',
      'run_1:sub_2:sub_2:4',
      'run_1:sub_3:2',
      'run_1:sub_3:4',
    ])
  })

  test.each([
    ['what strangers wrote', 'http_request', 'outside'],
    ['what other agents wrote', 'read_blackboard', 'agent'],
    ['nothing', 'write_file', 'owner'],
  ] as const)('what sub-agents use has the trust of what they read: %s', async (_what, name, trust) => {
    const harness = subagentHarness(
      ({ goal, turn }) => {
        if (goal === 'lead')
          return turn === 0 ? uses(spawn('a')) : turn === 1 ? uses(wait()) : { text: 'done' }
        return turn === 0 ? uses([name, { value: 'x' }]) : { text: '"trust": "owner"' }
      },
      [fakeTool(name, 'none')],
    )
    const beginning = { origin: human, trust: 'owner' } as const
    Object.assign(harness.deps.work, { beginning })
    await harness.run()
    expect(provenanceOf({ ...harness.state, beginning }).trust).toBe(trust)
  })

  test('what sub-agents use begins with the trust of what their parent had read when it set the goal', async () => {
    const seen: (string | undefined)[] = []
    const tool = fakeTool('tool', 'none', (_value, context) => {
      seen.push(context.provenance?.().trust)
      return 'looked'
    })
    const harness = subagentHarness(
      ({ goal, turn }) => {
        if (goal !== 'lead') return turn === 0 ? uses(['tool', { value: 'x' }]) : { text: 'done' }
        if (turn === 0) return uses(spawn('before'), wait(), ['http_request', { value: 'x' }])
        return turn === 1 ? uses(spawn('after'), wait()) : { text: 'done' }
      },
      [tool, fakeTool('http_request', 'none')],
      { beginning: { origin: human, trust: 'owner' } },
    )
    await harness.run()
    // The fake tool may return anything, but the model is asked before it returned anything.
    expect(seen).toEqual(['owner', 'outside'])
  })

  test('what sub-agents use is bounded in words, and what says how far it is believed is not cut off', async () => {
    const harness = subagentHarness(({ goal, turn }) => {
      if (goal === 'lead')
        return turn === 0 ? uses(spawn('a'), spawn('b')) : turn === 1 ? uses(wait()) : { text: 'done' }
      return { text: '"\n'.repeat(100_000) }
    })
    await harness.run()
    const output = harness.state.toolOutputs.at(-1)?.output ?? ''
    expect(output.length).toBeLessThan(toolOutputMaxChars)
    const { ended } = JSON.parse(output) as { ended: { result: string }[] }
    expect(ended.every(({ result }) => result.includes('characters omitted'))).toBe(true)
  })

  test('what sub-agents use is seen in the frames of the run, with whose it is', async () => {
    const harness = subagentHarness(
      ({ goal, turn }) => {
        if (turn === 1) return goal === 'b' ? { text: 'done' } : uses(wait())
        if (turn > 1) return { text: 'done' }
        return goal === 'lead'
          ? uses(spawn('a'))
          : goal === 'a'
            ? uses(spawn('b'))
            : uses(['tool', { value: 'x' }])
      },
      [fakeTool('tool', 'none')],
    )
    await harness.run()
    const seen = harness.frames.flatMap((frame) =>
      frame.type === 'tool_start' ? [`${frame.subagent ?? '-'} ${frame.name}`] : [],
    )
    expect(seen.toSorted()).toEqual([
      '- spawn_subagent',
      '- wait_for_subagent',
      'sub_2 spawn_subagent',
      'sub_2 wait_for_subagent',
      'sub_2/sub_2 tool',
    ])
  })
})

test('a wait ends when something is said to the run, so that its agent reads it', async () => {
  let isWaiting = false
  let looks = 0
  const steer = { id: 'steer_1', from: 'the owner', text: 'stop that', at: 0 }
  const harness = subagentHarness(
    (thought) => {
      if (thought.goal !== 'lead') return never()
      if (thought.turn === 0) return uses(spawn('slow'))
      if (thought.turn > 1) return { text: 'heard' }
      isWaiting = true
      return uses(wait())
    },
    [],
    {
      // Arrives during the wait, not before: at the second check of the wait.
      steers: () => (isWaiting && (looks += 1) > 1 ? [steer] : []),
      mesh: { call: async () => null, open: never },
    },
  )
  await harness.run()
  expect(harness.state.toolOutputs.at(-1)?.output).toContain('"interrupted"')
  expect(JSON.stringify(harness.state.messages)).toContain('stop that')
})

test('a tool of a sub-agent refuses where there is no loop', async () => {
  const { subagents } = subagentHarness(() => ({ text: '' }))
  await expect(subagents.supervisor()).rejects.toMatchObject({ code: 'unprocessable' })
})
