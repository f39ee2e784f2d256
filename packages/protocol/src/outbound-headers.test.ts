import { expect, test } from 'vitest'
import { wireLimits } from './limits.ts'
import { outboundHeadersSchema } from './outbound-headers.ts'

const some = (count: number, value: unknown) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`x-${at}`, value]))

test('headers are counted and measured before one of them is judged', () => {
  expect(outboundHeadersSchema.parse(undefined)).toEqual({})
  const most = some(wireLimits.outboundHeadersMax, 'v')
  expect(outboundHeadersSchema.parse(most)).toEqual(most)
  for (const wrong of [
    some(100_000, 1),
    some(wireLimits.outboundHeadersMax + 1, 'v'),
    { x: 'v'.repeat(wireLimits.outboundHeadersMaxChars) },
    { ['n'.repeat(wireLimits.outboundHeadersMaxChars)]: 'v' },
  ]) {
    const { error } = outboundHeadersSchema.safeParse(wrong)
    expect(error?.issues).toHaveLength(1)
    expect(error?.issues[0]?.message).toContain('at most 64 headers')
  }
  expect(outboundHeadersSchema.safeParse({ x: 1 }).error?.issues[0]?.path).toEqual(['x'])
})
