import { describe, expect, test } from 'vitest'
import { heedsLesson } from '../../../tests/verifies.ts'
import { chatFrameSchema } from './agent-api.ts'
import { fleetEventBodySchema } from './fleet-event.ts'
import { chatStreamFrameSchema } from './mesh-human-api.ts'

const schemas = { chatFrameSchema, chatStreamFrameSchema, fleetEventBodySchema }

describe('frames of streams', () => {
  test.each(Object.entries(schemas))('frames of %s all have a type of their own', (_name, schema) => {
    heedsLesson(100)
    const types = schema.def.options.map((option) => option.def.shape.type.def.values[0])
    expect(types.length).toBeGreaterThan(2)
    expect(new Set(types).size).toBe(types.length)
    for (const type of types) expect(type).toMatch(/^[a-z._]+$/)
  })

  test('a frame that reports a failed run has a type, and without the failure is invalid', () => {
    heedsLesson(100)
    const result = {
      run_id: 'run_1',
      fence: 1,
      task_id: null,
      status: 'failed',
      result: null,
      response: '',
      error: { code: 'model-failed', detail: 'no' },
      promote_to_blackboard: {},
      tool_outputs: [],
      tokens_used: 0,
      cost_usd: 0,
      duration_ms: 0,
    }
    expect(chatFrameSchema.safeParse({ type: 'done', result }).success).toBe(true)
    for (const frame of [{ result }, { error: 'no' }, { type: 'error', error: 'no' }]) {
      expect(chatFrameSchema.safeParse(frame).success).toBe(false)
      expect(chatStreamFrameSchema.safeParse(frame).success).toBe(false)
    }
  })
})
