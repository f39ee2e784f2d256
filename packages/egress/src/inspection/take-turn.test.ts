import { expect, test } from 'vitest'
import { aCredentialRoom } from '../../../../tests/support/credential-room.ts'
import { collectJournal } from '../../../../tests/support/collected-ports.ts'
import { policyOf } from '../../../testing/src/policy-of.ts'
import { placeholderFor } from '../credentials/placeholder.ts'
import { createTakeTurn } from './take-turn.ts'

const value = 'ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5'
const caller = { kind: 'agent', agentId: 'scout', token: 'program', run: null } as const
const placeholder = placeholderFor('the secret of a mesh', { agentId: 'scout', name: 'github', value })
const withKey = ['Authorization', `Bearer ${placeholder}`]

const policy = `
rules:
  - { name: push, match: { host: code.test, method: POST, path: '/*/git-receive-pack' }, verdict: ask, reason: A push. }
  - { name: admin, match: { host: code.test, path: '/admin/**' }, verdict: deny, reason: No administration. }
  - { name: key, match: { host: code.test, credential: github, method: DELETE }, verdict: deny, reason: No deletion. }
`

function aTurn(method: string, path: string, { rules = policy, host = 'code.test' } = {}) {
  const room = aCredentialRoom({ values: { github: value }, hosts: { github: ['code.test'] } })
  const takeTurn = createTakeTurn({
    guard: () => {},
    journal: collectJournal(),
    credentials: room.open,
    rate: { take: () => {} },
    loop: { spend: (_agentId, work) => work(), require: () => {}, turn: () => null },
    checkEffect: policyOf(rules),
  })
  const connection = { identity: { caller }, destination: { host, port: 443 } }
  return takeTurn(connection, { method, path })
}

test.each([
  ['a push', 'POST', '/repo/git-receive-pack', []],
  ['a push with a query behind its path', 'POST', '/repo/git-receive-pack?x=1', []],
  ['a push in capitals', 'POST', '/repo/Git-Receive-Pack', []],
  ['a method that a header replaces', 'GET', '/repo/git-receive-pack', ['X-HTTP-Method-Override', 'POST']],
  [
    'a method that a header of other letters replaces',
    'GET',
    '/repo/git-receive-pack',
    ['x_http_method_override', 'POST'],
  ],
  ...[
    '_method=POST',
    'x=1&_METHOD=post',
    '%5fmethod=POST',
    'x;_method=POST',
    'X-HTTP-Method-Override=POST',
    'X_HTTP_Method_Override=POST',
    // PHP reads these as `_method`.
    '.method=POST',
    '+_method=POST',
    '%5Bmethod=POST',
    '_method%00x=POST',
    // Salesforce, Google and Facebook document these.
    '_HttpMethod=POST',
    '$httpMethod=POST',
    '%24httpMethod=POST',
    'method=post',
    'httpMethod=POST',
  ].map(
    (query) => [`a method that ${query} replaces`, 'GET', `/repo/git-receive-pack?${query}`, []] as const,
  ),
  ['a method that a header with a verb replaces', 'GET', '/repo/git-receive-pack', ['X-HTTP-Verb', 'POST']],
  ['a push with a key', 'POST', '/repo/git-receive-pack', withKey],
] as const)(
  'an inspected request is asked for before a key is filled in: %s',
  async (...[, method, path, headers]) => {
    const turn = await aTurn(method, path)
    expect(turn.fill(headers)).toMatchObject({
      asked: { decision: { rule: 'push' }, credentials: headers === withKey ? ['github'] : [] },
    })
    const sent = turn.fillApproved(headers, headers === withKey ? ['github'] : [])
    expect(sent.includes(`Bearer ${value}`)).toBe(headers === withKey)
  },
)

test.each([
  ['a path that the policy denies', 'GET', '/admin/users', []],
  ['a request with a credential that the policy denies', 'DELETE', '/repo', withKey],
  ['a second slash, which is no host', 'GET', '//x/../admin/users', []],
  ['encoded dots', 'GET', '/public/%2e%2e/admin/users', []],
  ['dots', 'GET', '/public/../admin/users', []],
  ['dots that are encoded twice', 'GET', '/public/%252e%252e/admin/users', []],
  ['a slash that is encoded twice', 'GET', '/public/..%252fadmin/users', []],
  ['a slash that is encoded', 'GET', '/public/..%2Fadmin%2fusers', []],
  ['letters that are encoded three times', 'GET', '/%252561dmin/users', []],
  ['a letter in the notation of IIS', 'GET', '/%u0061dmin/users', []],
  ['dots in the notation of IIS', 'GET', '/public/%U002e%u002E%u002fadmin/users', []],
  ['parameters of a segment', 'GET', '/a/..;/admin/users', []],
  ['another case', 'GET', '/Admin/users', []],
  ['a path that a header may replace', 'GET', '/public', ['X-Original-URL', '/admin/users']],
  ['a path that another header may replace', 'GET', '/public', ['x_rewrite_url', '/admin/users']],
] as const)('an inspected request is refused before it leaves: %s', async (...[, method, path, headers]) => {
  const turn = await aTurn(method, path)
  const denied = expect.objectContaining({ code: 'policy-denied' })
  expect(() => turn.fill(headers)).toThrow(denied)
  expect(() => turn.fillApproved(headers, headers === withKey ? ['github'] : [])).toThrow(denied)
})

test.each([
  ['a clone', 'POST', '/repo/git-upload-pack', []],
  ['a deletion without the credential', 'DELETE', '/repo', []],
  ['a parameter that names a method of an API', 'GET', '/repo/git-receive-pack?method=photos.list', []],
  ['a parameter with the name of no method', 'GET', '/repo/git-receive-pack?payment_method=POST', []],
] as const)('an inspected request is sent: %s', async (...[, method, path, headers]) => {
  const turn = await aTurn(method, path)
  expect(turn.fill(headers)).toEqual({
    headers: expect.arrayContaining(headers as unknown as string[]) as unknown,
  })
})

test('an inspected request gets the value of a credential that no rule concerns', async () => {
  const { fill } = await aTurn('POST', '/repo/git-upload-pack')
  expect(fill(withKey)).toMatchObject({
    headers: expect.arrayContaining([`Bearer ${value}`]) as unknown,
  })
})

test.each(['other.test', 'code.test.other.test', 'lfs.code.test'])(
  'a redirect to %s gets no value of a credential that is bound to another host',
  async (host) => {
    const { fill } = await aTurn('PUT', '/objects/7', { host })
    expect(() => fill(withKey)).toThrow(expect.objectContaining({ code: 'credential-refused' }))
    expect(fill(['X-A', 'b'])).toEqual({ headers: ['X-A', 'b'] })
  },
)

const sockets = `
rules:
  - { name: sockets, match: { host: code.test, method: WEBSOCKET, path: '/live/**' }, verdict: allow }
  - { name: asked-sockets, match: { host: code.test, method: WEBSOCKET, path: '/live/asked' }, verdict: ask, reason: A room. }
  - { name: secret, match: { host: code.test, method: GET, path: '/live/secret' }, verdict: deny, reason: A secret. }
  - { name: asked, match: { host: code.test, method: GET, path: '/live/page' }, verdict: ask, reason: A page. }
  - { name: keyless, match: { host: code.test, method: WEBSOCKET, path: '/keyless' }, when: 'credentials.size() == 0', verdict: allow }
  - { name: no-key, match: { host: code.test, method: WEBSOCKET, path: '/live/no-key', credential: github }, verdict: deny, reason: No key. }
  - { name: reads, match: { host: code.test, path: '/read' }, verdict: allow }
`

test('an approved request is not sent with other credentials than those that were shown', async () => {
  const turn = await aTurn('POST', '/repo/git-receive-pack')
  const changed = expect.objectContaining({ code: 'approval-changed' })
  expect(() => turn.fillApproved(withKey, [])).toThrow(changed)
  expect(() => turn.fillApproved([], ['github'])).toThrow(changed)
})

test('a WebSocket that a rule allows is opened with the value of a credential', async () => {
  const turn = await aTurn('GET', '/live/room?x=1', { rules: sockets })
  expect(turn.fillWebSocket(withKey)).toEqual(expect.arrayContaining([`Bearer ${value}`]))
})

test('a WebSocket is decided with the credentials of its request', async () => {
  const keyless = await aTurn('GET', '/keyless', { rules: sockets })
  expect(keyless.fillWebSocket([])).toContain('identity')
  expect(() => keyless.fillWebSocket(withKey)).toThrow(expect.objectContaining({ code: 'policy-denied' }))
  const denied = await aTurn('GET', '/live/no-key', { rules: sockets })
  expect(() => denied.fillWebSocket(withKey)).toThrow(expect.objectContaining({ code: 'policy-denied' }))
})

test.each([
  ['without a rule', '/other', 'no rule allows a WebSocket to code.test'],
  ['by a rule that does not name its method', '/read', 'no rule allows a WebSocket to code.test'],
  ['where a person would be asked', '/live/asked', 'a WebSocket cannot wait for a person'],
  ['where a request is denied', '/live/secret', 'A secret.'],
  ['where a person would be asked about the request', '/live/page', 'a WebSocket cannot wait for a person'],
])('a WebSocket is refused %s', async (_where, path, detail) => {
  const turn = await aTurn('GET', path, { rules: sockets })
  const denied = { code: 'policy-denied', detail: expect.stringContaining(detail) as unknown }
  expect(() => turn.fillWebSocket([])).toThrow(expect.objectContaining(denied))
})
