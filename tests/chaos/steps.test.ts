import { describe, expect, it, test } from 'vitest'
import { createChance } from './chance.ts'
import { effectsOfLines } from './ground.ts'
import { nextTurn, readConversation, toldWords } from './read-conversation.ts'
import { callFor, readPlan, sayPlan, stepNames } from './steps.ts'
import type { Plan } from './steps.ts'
import { planBlow, planWork } from './work-plan.ts'

const plan: Plan = {
  marker: 'h7',
  steps: [{ name: 'board' }, { name: 'hand-off', to: 'left', steps: [{ name: 'post' }, { name: 'slow' }] }],
}

describe('a plan', () => {
  it('is read back from the words that say it', () => {
    expect(sayPlan(plan)).toBe('Plan h7: board hand-off=left/post+slow.')
    expect(readPlan(`[Webhook "x"]\n{"text":"${sayPlan(plan)}"}`)).toEqual(plan)
    expect(readPlan('Nothing is planned.')).toBeNull()
  })

  it('is made step by step, from the calls that stand in the conversation', () => {
    const asked = { role: 'user', content: sayPlan(plan) }
    const made = { role: 'assistant', content: '', tool_calls: [{ id: 'h7.0.4' }] }
    const result = { role: 'tool', tool_call_id: 'h7.0.4', content: '{"version":1}' }
    const steer = { role: 'user', content: 'Steer s3 is said.' }
    expect(nextTurn([asked])).toMatchObject({ marker: 'h7', index: 0, step: { name: 'board' } })
    expect(nextTurn([asked, made, result, steer])).toMatchObject({ index: 1, step: { name: 'hand-off' } })
    expect(nextTurn([asked, made, result, made, result])).toMatchObject({ index: 2, step: null })
    expect(nextTurn([steer])).toEqual({ marker: null, index: 0, step: null })
    const heard = readConversation([asked, made, result, steer, steer])
    expect([...heard.results]).toEqual([['h7.0.4', '{"version":1}']])
    expect([...heard.steers]).toEqual([['s3', 2]])
  })

  it('of a task is the description of its hand-off, and ends by closing it', () => {
    const step = plan.steps[1] ?? { name: 'board' }
    const call = callFor(step, { id: 'h7.1.5', marker: 'h7', index: 1, outside: '' })
    expect(readPlan(JSON.stringify(call.arguments))).toEqual({
      marker: 'h7-2',
      steps: [{ name: 'post' }, { name: 'slow' }, { name: 'complete' }],
    })
  })

  it('gives every step but the last the id of its call', () => {
    const bearing = stepNames.filter((name) => name !== 'complete')
    const made = bearing.map((name) =>
      callFor({ name, to: 'left' }, { id: 'c1.2.3', marker: 'c1', index: 2, outside: 'http://x' }),
    )
    for (const { name, arguments: args } of made) expect(JSON.stringify(args), name).toMatch(/c1[.-]2[.-]3/)
  })
})

test('the words of a result tell done, refused and unknown apart', () => {
  expect(toldWords('{"version": 1}')).toBe('done')
  expect(toldWords('exit code 0\n')).toBe('done')
  expect(toldWords('Error (version-conflict): somebody wrote it')).toBe('refused')
  expect(toldWords('Error (outcome-unknown): it had begun')).toBe('unknown')
  expect(toldWords('Error: this call was skipped')).toBe('unknown')
})

test('lines of a disk are effects of the calls that they name', () => {
  expect(effectsOfLines('left', 'c1.0.1\n\nc1.0.1\n').map(({ callId }) => callId)).toEqual([
    'c1.0.1',
    'c1.0.1',
  ])
})

describe('a seed', () => {
  it('repeats the work and the blows', () => {
    const plans = [1, 1, 2].map((seed) => {
      const chance = createChance(seed)
      const blows = chance.fork('blows')
      return JSON.stringify([
        planWork(chance.fork('work'), 40),
        Array.from({ length: 20 }, () => planBlow(blows)),
      ])
    })
    expect(plans[0]).toBe(plans[1])
    expect(plans[0]).not.toBe(plans[2])
  })

  it('gives work of every kind, with each marker once', () => {
    const work = planWork(createChance(3), 300)
    const markers = work.map(({ plan: one }) => one.marker)
    expect(new Set(markers).size).toBe(markers.length)
    expect(work.reduce((sum, { runs }) => sum + runs, 0)).toBeGreaterThanOrEqual(300)
    expect(new Set(work.map(({ kind }) => kind))).toEqual(new Set(['chat', 'webhook', 'invoke']))
    expect(new Set(work.map(({ way }) => way)).size).toBe(4)
    const steps = work.flatMap(({ plan: one }) => one.steps.flatMap((step) => [step, ...(step.steps ?? [])]))
    expect(new Set(steps.map(({ name }) => name)).size).toBe(stepNames.length - 1)
  })
})
