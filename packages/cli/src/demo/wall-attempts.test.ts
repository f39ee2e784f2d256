import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { repositoryRoot } from '../mesh-process/mesh-paths.ts'
import { attemptResult } from './attempt-result.ts'
import { questionWithDefinitions, permissiveLicences } from './permissive-licences.ts'
import { sideBySide, wallAttempts } from './wall-attempts.ts'
import type { WallAttempt } from './wall-attempts.ts'
import type { WallFacts } from './wall-facts.ts'

const place = {
  addresses: ['10.1.0.3'],
  port: 8400,
  healthz: 200,
  listens: true,
  api: { host: '10.1.0.1', port: 8420 },
}
const facts: WallFacts = {
  isolates: true,
  self: place,
  other: { ...place, addresses: ['10.1.0.4'] },
  canary: { port: 5555, addresses: ['192.168.1.2'], connections: () => 0 },
  secrets: [{ name: 'provider key', value: 'sk-very.secret' }],
  control: { name: 'control', value: 'ctl-123' },
}

function judge(id: string, report: unknown, changes: Partial<WallFacts> = {}) {
  const attempt = wallAttempts.find((one) => one.id === id)
  if (attempt === undefined) throw new Error(`no attempt ${id}`)
  return attempt.judge(report, { ...facts, ...changes })
}

const workerTried = (outcome: string) => ({ outcomes: [{ target: '10.1.0.4:8400', outcome }] })
const fetches = (exit: number, words: string) => ({
  proxied: true,
  fetches: [{ url: 'https://1.1.1.1/', exit, words }],
})
const writes = (user: number, words: string) => ({ user, writes: [{ path: '/x', words }] })
const api = { target: '10.1.0.1:8420', outcome: 'connected' }
const search = {
  files: 10,
  processes: 3,
  unreadable: 1,
  memories: 1,
  found: { control: '/data/demo/control.txt' },
  token_shaped: 2,
  opened: [],
  program_token_status: 401,
}

describe('wall attempts', () => {
  it('a worker that was reached is a wall that did not hold', () => {
    expect(judge('other-worker', workerTried('timed out')).held).toBe(true)
    expect(judge('other-worker', workerTried('connected')).held).toBe(false)
  })

  it('a worker that is down proves nothing', () => {
    const down = { other: { ...place, healthz: 0, listens: false } }
    const report = { outcomes: [{ target: '10.1.0.4:8400', outcome: 'timed out' }] }
    expect(judge('other-worker', report, down).held).toBe(false)
  })

  it('host ports are shut only if the API next to them is open', () => {
    const shut = { target: '192.168.1.2:5555', outcome: 'ECONNREFUSED' }
    expect(judge('host-ports', { outcomes: [api, shut] }).held).toBe(true)
    expect(judge('host-ports', { outcomes: [{ ...api, outcome: 'timed out' }, shut] }).held).toBe(false)
    expect(judge('host-ports', { outcomes: [api, { ...shut, outcome: 'connected' }] }).held).toBe(false)
  })

  it('what the canary itself received counts, whatever the attempt says', () => {
    const heard = { canary: { ...facts.canary, connections: () => 1 } }
    const report = { outcomes: [api, { target: '192.168.1.2:5555', outcome: 'timed out' }] }
    expect(judge('host-ports', report, heard).held).toBe(false)
  })

  it('any answer from outside is a hole', () => {
    expect(judge('internet-without-proxy', fetches(28, 'curl: (28) timed out 000')).held).toBe(true)
    expect(judge('internet-without-proxy', fetches(0, '404')).held).toBe(false)
    expect(judge('metadata-through-proxy', fetches(0, '403 000')).held).toBe(true)
    expect(judge('metadata-through-proxy', fetches(0, '200 000')).held).toBe(false)
  })

  it('a proxy that programs are not given is shown as not tried', () => {
    const report = { ...fetches(97, 'there is no proxy to ask'), proxied: false }
    expect(judge('metadata-through-proxy', report)).toMatchObject({ held: true, attempted: false })
  })

  it('root, one written file, or one run file is a hole', () => {
    expect(judge('write-root', writes(1000, 'Read-only file system')).held).toBe(true)
    expect(judge('write-root', writes(0, 'Read-only file system')).held).toBe(false)
    expect(judge('write-root', writes(1000, 'written')).held).toBe(false)
    const run = { script: 'Permission denied', program: 'Permission denied', control: 'ran' }
    expect(judge('run-from-tmp', run).held).toBe(true)
    expect(judge('run-from-tmp', { ...run, program: 'ran' }).held).toBe(false)
    expect(judge('run-from-tmp', { ...run, control: 'Permission denied' }).held).toBe(false)
  })

  it('300 processes are refused below 256', () => {
    expect(judge('many-processes', { started: 240, wanted: 300, refusal: 'busy' }).held).toBe(true)
    expect(judge('many-processes', { started: 300, wanted: 300, refusal: null }).held).toBe(false)
    expect(judge('many-processes', { started: 0, wanted: 300, refusal: 'busy' }).held).toBe(false)
  })

  it('a search that finds a key, opens the API, or misses its own control is a hole', () => {
    expect(judge('find-secrets', search).held).toBe(true)
    expect(judge('find-secrets', { ...search, found: {} }).held).toBe(false)
    expect(
      judge('find-secrets', { ...search, found: { ...search.found, 'provider key': '/run/x' } }).held,
    ).toBe(false)
    expect(judge('find-secrets', { ...search, opened: ['/proc/1/environ'] }).held).toBe(false)
    expect(judge('find-secrets', { ...search, program_token_status: 200 }).held).toBe(false)
  })

  it('concurrent attempts report separately, even if another attempt fails or stays silent', () => {
    const say = (id: string, line: string): WallAttempt => ({ ...wallAttempts[0]!, id, command: () => line })
    const together = [
      say('first', `echo noise; echo 'RESULT {"a":1}'; exit 3`),
      say('silent', 'sleep 0.1'),
      say('last', `echo 'RESULT {"b":2}' >&2`),
    ]
    const text = execFileSync('bash', ['-c', sideBySide(together, facts)], { encoding: 'utf8' })
    const reports = together.map(({ id }) => attemptResult({ status: 'done', text }, id))
    expect(reports).toEqual([{ a: 1 }, null, { b: 2 }])
  })

  it('no secret goes into the container that is searched for it', () => {
    for (const attempt of wallAttempts) {
      expect(attempt.command(facts)).not.toMatch(/very\.secret|ctl-123/)
    }
  })

  it('a chat that any token opens is a hole', () => {
    const refused = { none: 401, program: 401, forged: 401, healthz: 200, listens: true }
    expect(judge('own-chat', refused).held).toBe(true)
    expect(judge('own-chat', { ...refused, program: 200 }).held).toBe(false)
    expect(judge('own-chat', { ...refused, healthz: 0 }).held).toBe(false)
    // In a cluster it answers only clients with its key; that it exists shows in the accepted connections.
    const unheard = { none: 'fetch failed', program: 'fetch failed', forged: 'fetch failed', healthz: 0 }
    expect(judge('own-chat', { ...unheard, listens: true }).held).toBe(true)
    expect(judge('own-chat', { ...unheard, listens: false }).held).toBe(false)
    expect(judge('own-chat', { ...unheard, program: 200, listens: true }).held).toBe(false)
  })

  it.each(wallAttempts.map((attempt) => attempt.id))(
    '%s does not hold when the attempt reported something else',
    (id) => {
      expect(() => judge(id, null)).toThrow('expected')
      expect(() => judge(id, { unexpected: true })).toThrow('expected')
    },
  )
})

describe('report of an attempt', () => {
  it('the report of an attempt is found in the text or in the result of the outcome', () => {
    const line = 'exit code 0\nnoise\nRESULT {"a":1}\n'
    expect(attemptResult({ status: 'done', text: line })).toEqual({ a: 1 })
    expect(attemptResult({ status: 'done', text: 'done', result: { output: line } })).toEqual({ a: 1 })
  })

  it('the report of an attempt is absent where the program said nothing whole', () => {
    expect(attemptResult(null)).toBeNull()
    expect(attemptResult({ status: 'failed', text: 'killed after 120 s' })).toBeNull()
    expect(attemptResult({ status: 'done', text: 'RESULT {"a":' })).toBeNull()
  })
})

describe('recorded decisions of the demo', () => {
  const cassette: { tracks: { when?: string; turns: { capture?: Record<string, string> }[] }[] } = JSON.parse(
    readFileSync(join(repositoryRoot, 'cassettes', 'licence-audit.json'), 'utf8'),
  )

  it('begin with the question that the demo asks, and take the list of permissive licences from it', () => {
    const track = cassette.tracks.find((one) =>
      new RegExp(one.when ?? '^', 's').test(questionWithDefinitions),
    )
    const pattern = track?.turns[0]?.capture?.['permissive'] ?? ''
    expect(new RegExp(pattern, 's').exec(questionWithDefinitions)?.[1]).toBe(permissiveLicences.join(', '))
  })

  it('the recorded decisions of the demo hold no number of their own: every figure of the answer is captured', () => {
    const answer = JSON.stringify(cassette.tracks[0])
    expect(answer).toContain('{{total}} dependencies')
    expect(answer).toContain('{{not_permissive}}')
  })
})
