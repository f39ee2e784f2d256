import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { vaultHumanEndpoints } from '@flotilla/protocol/vault-api'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { aCassette, calls, says } from '../support/cassettes.ts'
import { editPermissions } from '../support/edit-permissions.ts'
import { eventually } from '../support/eventually.ts'
import { openLedger } from '../support/ledger-view.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { startWebServer } from '../support/web-server.ts'
import type { WebServer } from '../support/web-server.ts'
import { heedsLesson, verifies } from '../verifies.ts'
import { flotilla, flotillaWith } from '../support/flotilla-command.ts'

const value = 'p$ss \'word\' "of" `mine` \\ 1'
const captchaNames = [
  'CAPTCHA_SOLVER_KEY',
  'CAPTCHA_SOLVER_KEY_SECONDARY',
  'CAPTCHA_SOLVER_PROXY_LOGIN',
  'CAPTCHA_SOLVER_PROXY_PASSWORD',
]
let web: WebServer
let mesh: MeshProcess
let place: string

const day = aCassette(
  {
    agent_kind: 'operator',
    when: '^need a key$',
    turns: [
      calls('request_credential', { name: 'Wiki', service: 'wiki.test', description: 'to read a page' }),
      says('I asked the owner.'),
    ],
  },
  {
    agent_kind: 'operator',
    when: 'The owner has stored the credential\\. Write \\$CRED\\{wiki\\} in http_request; the mesh inserts the value in',
    turns: [calls('vault_list', {}), says('I can go on: {{list}}', { capture: { list: '([\\s\\S]+)' } })],
  },
  {
    agent_kind: 'operator',
    when: 'The owner rejected the request: not this year',
    turns: [says('Then not.')],
  },
  {
    agents: ['clerk'],
    when: '^need a key$',
    turns: [
      calls('request_credential', { name: 'wiki', service: 'wiki.test', description: 'to read a page' }),
      says('It said: {{why}}', { capture: { why: '([\\s\\S]+)' } }),
    ],
  },
)

beforeAll(async () => {
  web = await startWebServer((request, response) => response.end(JSON.stringify(request.headers)))
  place = `127.0.0.1:${web.port}`
  mesh = await startMesh({
    cassettes: { day },
    settings: { egress: { allowed_private: [place] } },
    environment: {
      FLOTILLA_SYSTEM_PAGER_TOKEN: 'of the mesh alone',
      ...Object.fromEntries(
        captchaNames.flatMap((name) =>
          [name, `FLOTILLA_CRED_${name}`].map((spelt) => [spelt, 'of the environment alone']),
        ),
      ),
    },
  })
  await mesh.createWorker('clerk')
})
afterAll(async () => {
  await mesh?.stop()
  await web?.close()
})
beforeEach(() => mesh.restartIfStopped())

/** Runs a command as a person does, with the value on standard input. */
const cli = (words: readonly string[], input = '') =>
  flotilla({ url: mesh.url, home: mesh.home, input }, ...words)

describe('the owner at the command line', () => {
  it('the owner at the command line stores a credential from standard input, bound, and sees no value of it anywhere', async () => {
    verifies('purpose:env-file:mode-600', 'resources:credential:handle')
    // Runs in a separate process, as no other test here needs: its standard input is a pipe.
    const piped = { url: mesh.url, home: mesh.home, input: `${value}\n` }
    const set = await flotillaWith(piped, 'credentials', 'set', 'Wiki', '--host', `http://${place}`)
    expect(set, set.err).toMatchObject({ code: 0 })
    expect(set.out).toContain(
      `wiki is inserted for http://${place}, for agents whose allowed_credentials include it`,
    )
    const list = await cli(['credentials', 'list'])
    expect(list.out).toMatch(/wiki +agent +file +[0-9a-f]{8} +http:\/\/127\.0\.0\.1:\d+/)
    expect(list.out).toMatch(
      /pager_token +system +mesh +[0-9a-f]{8} +nowhere: only the mesh itself uses this credential/,
    )
    expect(set.out + set.err + list.out).not.toContain('word')
    expect((await stat(join(mesh.home, '.env'))).mode & 0o777).toBe(0o600)
    expect(await readFile(join(mesh.home, 'config', 'credentials.json'), 'utf8')).not.toContain('word')
  })

  it('an invalid value, name or host is rejected with the fault and the repair', async () => {
    const short = await cli(['credentials', 'set', 'x'], 'short\n')
    expect(short).toMatchObject({ code: 1 })
    expect(short.err).toContain('fewer than 8 characters')
    const lines = await cli(['credentials', 'set', 'x'], 'line one\nline two\n')
    expect(lines.err).toContain('line end')
    expect(lines.err).not.toContain('line one')
    expect((await cli(['credentials', 'set', 'FLOTILLA_SYSTEM_X'], 'long enough')).err).toContain(
      'without FLOTILLA_CRED_',
    )
    expect((await cli(['credentials', 'bind', 'wiki', '*'])).err).toContain(
      'a host must have the form host, host:port',
    )
    expect((await cli(['credentials', 'bind', 'nothing', 'a.example'])).err).toContain(
      'flotilla credentials list',
    )
    expect((await cli(['credentials', 'set', 'x'], '')).err).toContain('The value is empty')
    // A value on the command line is rejected.
    expect((await cli(['credentials', 'set', 'x', 'the-value'])).code).toBe(2)
  })
})

describe('an agent', () => {
  it('an agent uses it by its handle once its record allows the name, and not before', async () => {
    verifies('resources:credential:agent-by-permission', 'resources:credential:substituted-server-side')
    const request = { url: `http://me:$CRED{wiki}@${place}/`, headers: { 'x-key': '$CRED{WIKI}' } }
    const before = await mesh.invoke('clerk', 'http_request', request)
    expect(JSON.stringify(before.outcome)).toContain('credential-unknown')
    expect(web.requests).toEqual([])
    await editPermissions(mesh, 'clerk', { allowed_credentials: ['W*'] })
    const after = await mesh.invoke('clerk', 'http_request', request)
    expect(after.outcome, JSON.stringify(after.outcome)).toMatchObject({ status: 'done' })
    expect(web.requests[0]?.headers).toMatchObject({
      'x-key': value,
      authorization: `Basic ${Buffer.from(`me:${value}`).toString('base64')}`,
    })
    expect(JSON.stringify(after.outcome)).toContain('[secret]')
    expect(JSON.stringify(after.outcome)).not.toContain('word')
  })

  it('an agent cannot use it while the bindings file is broken, and can again when a hand has mended it', async () => {
    const path = join(mesh.home, 'config', 'credentials.json')
    const whole = await readFile(path, 'utf8')
    const request = { url: `http://${place}/`, headers: { 'x-key': '$CRED{wiki}' } }
    await writeFile(path, whole.replace('"hosts": [', '"hosts": [ 7,'))
    await eventually('it is refused with the line', async () =>
      JSON.stringify((await mesh.invoke('clerk', 'http_request', request)).outcome).includes(
        'config/credentials.json line 4',
      ),
    )
    expect((await cli(['credentials', 'list'])).out).toContain(
      'No credential can be used: config/credentials.json line 4',
    )
    await writeFile(path, whole)
    await eventually(
      'it is filled in again',
      async () => (await mesh.invoke('clerk', 'http_request', request)).outcome?.status === 'done',
    )
  })

  it('an agent has it filled in by http_request alone: every other tool gets the handle as it is written', async () => {
    verifies('resources:credential:handle')
    const ran = await mesh.invoke('clerk', 'run_command', { command: "echo '$CRED{wiki}'" })
    expect(ran.outcome?.result).toBe('exit code 0\n$CRED{wiki}\n')
    const content = 'key: $CRED{wiki}'
    await mesh.invoke('clerk', 'write_file', { path: 'workspace/key.txt', content })
    expect(await readFile(join(mesh.dataOf('clerk'), 'workspace', 'key.txt'), 'utf8')).toBe(content)
    await mesh.invoke('clerk', 'notify_user', { message: content })
    const ledger = openLedger(mesh.home)
    expect(JSON.stringify(ledger.rows('SELECT message FROM notes'))).toContain(content)
    ledger.close()
  })

  it('an agent finds no name of the CAPTCHA solver, whatever it may use and however these are set', async () => {
    verifies('resources:credential:captcha-bypass')
    await editPermissions(mesh, 'clerk', { allowed_credentials: ['*'] })
    for (const name of captchaNames) {
      const request = { url: `http://${place}/`, headers: { 'x-key': `$CRED{${name}}` } }
      const sent = await mesh.invoke('clerk', 'http_request', request)
      expect(JSON.stringify(sent.outcome), name).toContain('credential-unknown')
    }
    const shown = [
      (await cli(['credentials', 'list'])).out,
      JSON.stringify((await mesh.invoke('clerk', 'vault_list', {})).outcome),
      JSON.stringify((await mesh.invoke('clerk', 'run_command', { command: 'env' })).outcome),
    ].join()
    expect(shown).toContain('wiki')
    expect(shown.toLowerCase()).not.toMatch(/captcha|of the environment alone/)
  })

  it('an agent has a secret made, which goes nowhere until the owner binds it', async () => {
    await editPermissions(mesh, 'clerk', { allowed_credentials: ['w*', 'made_*'] })
    const made = await mesh.invoke('clerk', 'vault_generate_secret', { name: 'made_db', length: 24 })
    expect(made.outcome).toMatchObject({ result: { name: 'made_db', handle: '$CRED{made_db}' } })
    const request = { url: `http://${place}/`, headers: { 'x-made': '$CRED{made_db}' } }
    expect(JSON.stringify((await mesh.invoke('clerk', 'http_request', request)).outcome)).toContain(
      'credential-refused',
    )
    const bound = await cli(['credentials', 'bind', 'made_db', `http://${place}`, '--note', 'made by clerk'])
    expect(bound, bound.err).toMatchObject({ code: 0 })
    const sent = await mesh.invoke('clerk', 'http_request', request)
    expect(sent.outcome?.status).toBe('done')
    expect(web.requests.at(-1)?.headers['x-made']).toMatch(/^[\w-]{24}$/)
    const other = await mesh.invoke('clerk', 'vault_generate_secret', { name: 'other' })
    expect(JSON.stringify(other.outcome)).toContain('denied')
  })
})

describe('a request for a credential', () => {
  it('a request for a credential is refused to a plain worker', async () => {
    heedsLesson(42)
    verifies('resources:permission:can-request-user-credentials')
    const run = await mesh.ask('need a key', { agent: 'clerk' })
    expect(run.outcome?.text).toContain('can_request_user_credentials')
    expect((await cli(['credentials', 'requests'])).out).toContain('No agent has requested a credential.')
  })

  it('a request for a credential reaches the owner, outlives the mesh, and its answer comes as a run of the conversation that asked', async () => {
    await editPermissions(mesh, 'operator', { allowed_credentials: ['*'] })
    await cli(['credentials', 'remove', 'wiki'])
    const asked = await mesh.ask('need a key', { session: 'keys' })
    expect(asked.outcome?.text).toBe('I asked the owner.')
    await mesh.kill9()
    await mesh.restart()
    const shown = await cli(['credentials', 'requests'])
    expect(shown.out).toMatch(/cred_[0-9a-f]{16} +open +operator +wiki +wiki\.test +to read a page/)
    expect((await cli(['pending'])).out).toMatch(
      /^cred_[0-9a-f]{16} operator requests the credential wiki for wiki\.test: to read a page/m,
    )
    const ledger = openLedger(mesh.home)
    expect(JSON.stringify(ledger.rows('SELECT message FROM notes'))).toContain(
      'flotilla credentials set wiki --host HOST',
    )
    await cli(['credentials', 'set', 'wiki', '--host', `http://${place}`], 'another value of it')
    const answer = await eventually('the answer is a run', async () =>
      (await mesh.runs()).find(({ origin, state }) => origin.kind === 'system' && state === 'done'),
    )
    expect(answer).toMatchObject({ agent_id: 'operator', input: { kind: 'chat', session: 'keys' } })
    expect(answer.outcome?.text).toContain('$CRED{wiki}')
    expect((await cli(['credentials', 'requests'])).out).toContain('granted')
    expect((await cli(['pending'])).out).toContain(
      'No action, question or request for a credential waits for you.',
    )
    ledger.close()
  })

  it('the denial of a request for a credential is delivered too, with the reason', async () => {
    await cli(['credentials', 'remove', 'wiki'])
    await mesh.ask('need a key')
    const { requests } = (await mesh.call(vaultHumanEndpoints.credentialRequests)).json() as {
      requests: { id: string; state: string }[]
    }
    const open = requests.find(({ state }) => state === 'open')
    const said = await cli(['credentials', 'deny', open?.id ?? '', '--reason', 'not this year'])
    expect(said.out).toContain('The request for wiki is rejected, and operator is informed')
    await eventually('the operator heard', async () =>
      (await mesh.runs()).find(({ outcome }) => outcome?.text === 'Then not.'),
    )
  })

  it('every request, use, denial and binding of a credential is in the journal, without its value', async () => {
    const ledger = openLedger(mesh.home)
    const rows = ledger.rows(
      "SELECT actor, action, subject, detail FROM journal WHERE action LIKE 'credential.%'",
    )
    const actions = new Set(rows.map(({ action }) => String(action)))
    for (const action of [
      'used',
      'refused',
      'stored',
      'bound',
      'removed',
      'generated',
      'requested',
      'request-granted',
      'request-denied',
    ])
      expect([...actions]).toContain(`credential.${action}`)
    const used = rows.find(({ action }) => action === 'credential.used')
    expect(used).toMatchObject({ actor: 'agent:clerk', subject: 'wiki' })
    expect(String(used?.['detail'])).toMatch(/"host":"127\.0\.0\.1:\d+".*"run":"run_/)
    expect(JSON.stringify(rows)).not.toMatch(/word|another value/)
    ledger.close()
    expect((await mesh.call(meshHumanEndpoints.status)).status).toBe(200)
  })
})
