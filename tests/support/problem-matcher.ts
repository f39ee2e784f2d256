import { isProblemCode, problemCatalog } from '@flotilla/protocol/problem-catalog'
import type { ProblemCode } from '@flotilla/protocol/problem-catalog'
import { expect } from 'vitest'
import type { Reply } from './http-call.ts'

/** Expects a problem of the catalogue: media type, status, code and title match, and a repair is present. */
export function expectProblem(reply: Reply, ...codes: readonly ProblemCode[]): Record<string, unknown> {
  expect(reply.headers['content-type'], reply.text.slice(0, 500)).toMatch(/^application\/problem\+json/)
  const body = reply.json()
  const code = String(body['code'])
  expect(codes, reply.text.slice(0, 500)).toContain(code)
  if (!isProblemCode(code)) throw new Error(`${code} does not stand in the catalogue`)
  const { status, title } = problemCatalog[code]
  expect(body).toMatchObject({ type: `urn:flotilla:problem:${code}`, status, title })
  // The repair is the catalogue's text, or a more specific one.
  expect(body['repair']).toMatch(/^[A-Z].*\.$/s)
  expect(reply.status).toBe(status)
  return body
}
