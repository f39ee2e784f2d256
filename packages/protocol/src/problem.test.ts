import { describe, expect, it } from 'vitest'
import { Problem, withChanges } from './problem.ts'

describe('a problem that is retold', () => {
  it('a problem that is retold keeps all that its thrower gave, and says the rest in the new words', () => {
    const cause = new Error('why')
    const given = { detail: 'first words', repair: 'Do this.', retryAfterSeconds: 7, cause }
    const told = withChanges(new Problem('rate-limited', { ...given, extra: { left: 1, of: 2 } }), {
      detail: 'other words',
      extra: { left: 0 },
    })
    expect(told).toMatchObject({
      ...given,
      code: 'rate-limited',
      detail: 'other words',
      extra: { left: 0, of: 2 },
    })
  })

  it('a problem that is retold has the repair of the catalogue where its thrower gave none', () => {
    const problem = new Problem('rate-limited')
    expect(withChanges(problem, { detail: 'x' }).repair).toBe(problem.repair)
  })
})
