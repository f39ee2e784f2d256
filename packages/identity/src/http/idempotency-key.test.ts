import { headers } from '@flotilla/protocol/headers'
import type { FastifyRequest } from 'fastify'
import { expect, test } from 'vitest'
import { idempotencyKeyIn } from './idempotency-key.ts'

const asked = (key?: string) =>
  idempotencyKeyIn({ headers: key === undefined ? {} : { [headers.idempotencyKey]: key } } as FastifyRequest)

test('a key is taken as it is, and none where none was sent', () => {
  expect(asked('k'.repeat(200))).toEqual({ idempotencyKey: 'k'.repeat(200) })
  expect(asked()).toEqual({})
})

test.each(['', 'k'.repeat(201)])(
  '%j is no key: two calls of a script without one are not the same call',
  (key) => {
    expect(() => asked(key)).toThrow(expect.objectContaining({ code: 'bad-request' }))
  },
)
