import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { peopleAdminEndpoints } from '@flotilla/protocol/people-api'
import { setupEndpoints as endpoints } from '@flotilla/protocol/setup-api'
import { templateEndpoints } from '@flotilla/protocol/templates-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { flotilla } from '../support/flotilla-command.ts'
import { startKeyedProvider } from '../support/keyed-provider.ts'
import type { KeyedProvider } from '../support/keyed-provider.ts'
import { openLedger } from '../support/ledger-view.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'

const rightKey = 'sk-right-0123456789abcdef'
const wrongKey = 'sk-wrong-0123456789abcdef'

describe('a home without a provider', () => {
  let mesh: MeshProcess
  let provider: KeyedProvider
  beforeAll(async () => {
    ;[mesh, provider] = await Promise.all([
      startMesh(),
      startKeyedProvider({ key: rightKey, models: ['hello', 'a b', 'slow'] }),
    ])
  })
  afterAll(async () => {
    await Promise.all([mesh?.stop(), provider?.close()])
  })

  const envFile = () => readFile(join(mesh.home, '.env'), 'utf8').catch(() => '')
  const candidate = (more: object) => ({
    body: { provider: 'openai', base_url: provider.baseUrl, model: 'hello', ...more },
  })

  it('a home without a provider says so, and what could be set up', async () => {
    const setup = (await mesh.call(endpoints.setup)).json()
    expect(setup).toMatchObject({ default_model: null, default_model_locked: null, demo: null })
    expect(JSON.stringify(setup)).toContain('"name":"ollama"')
  })

  it('a home without a provider plays the recorded demo: a first answer, with real tool calls', async () => {
    const demo = (await mesh.call(endpoints.setupDemo)).json()
    expect(demo).toMatchObject({ default_model: { name: 'scripted/first-look' }, template: 'starter' })
    await mesh.call(templateEndpoints.templateApply, { params: { name: String(demo['template']) } })
    const run = await mesh.ask(String(demo['question']), { agent: String(demo['agent']) })
    expect(JSON.stringify(run.outcome)).toContain('first-look.md')
  })

  it('a wrong key is rejected with the message of the provider, and neither saved nor shown', async () => {
    for (const endpoint of [endpoints.setupCheck, endpoints.setupProvider]) {
      const refused = await mesh.call(endpoint, candidate({ key: wrongKey }))
      expect(refused.json()).toMatchObject({ code: 'provider-refused' })
      expect(refused.text).toContain('Incorrect API key')
      expect(refused.text).not.toContain(wrongKey)
    }
    const unknown = await mesh.call(endpoints.setupProvider, candidate({ key: rightKey, model: 'gone' }))
    expect(unknown.json()).toMatchObject({ code: 'model-unknown' })
    expect(await envFile()).not.toMatch(/OPENAI/)
  })

  it('a home without a provider keeps a key once a model has answered with it, thinks with it at once, and never shows it', async () => {
    const checked = (await mesh.call(endpoints.setupCheck, candidate({ key: rightKey }))).json()
    expect(checked).toEqual({ answered: 'openai/hello', models: ['hello', 'slow'] })
    expect(await envFile()).not.toContain(rightKey)
    const kept = await mesh.call(endpoints.setupProvider, candidate({ key: ` ${rightKey}\n` }))
    expect(kept.json()).toMatchObject({ default_model: { name: 'openai/hello' } })
    expect(await envFile()).toContain(`FLOTILLA_SYSTEM_OPENAI_API_KEY='${rightKey}'`)
    const answer = await mesh.ask('Are you there?')
    expect(answer.outcome).toMatchObject({ status: 'done', text: 'Hello there' })
    const setup = await mesh.call(endpoints.setup)
    expect(kept.text + setup.text + mesh.log()).not.toContain(rightKey)
    expect(setup.json()['providers']).toContainEqual(expect.objectContaining({ name: 'openai', key: 'file' }))
  })

  it('a saved key is sent to no other address', async () => {
    const elsewhere = await startKeyedProvider({ key: rightKey, models: ['hello'] })
    try {
      const added = await mesh.call(peopleAdminEndpoints.personAdd, {
        body: { name: 'odo', role: 'owner', agents: [], identities: [] },
      })
      const { token } = added.json() as { token: string }
      for (const endpoint of [endpoints.setupCheck, endpoints.setupProvider]) {
        const body = { provider: 'openai', base_url: elsewhere.baseUrl, model: 'hello' }
        const moved = await mesh.call(endpoint, { body })
        expect([moved.status, moved.text]).toEqual([422, expect.stringContaining('Enter the key again')])
        // A remote caller is denied even with a valid token, because the model server's reply would reach them.
        const away = await mesh.call(endpoint, {
          body: { ...body, key: rightKey },
          headers: { authorization: `Bearer ${token}`, 'x-forwarded-for': '192.0.2.1' },
        })
        expect([away.status, away.json()['code']]).toEqual([403, 'denied'])
        for (const odd of [
          'http://us:pw@127.0.0.1:9/v1',
          'http://127.0.0.1:9/v1#x',
          'http://127.0.0.1:9/v1?a=\nFOO=1',
        ])
          expect(
            (await mesh.call(endpoint, { body: { ...body, base_url: odd, key: rightKey } })).status,
          ).toBeOneOf([400, 422])
      }
      expect(elsewhere.requests()).toBe(0)
      expect(await envFile()).not.toContain(new URL(elsewhere.baseUrl).host)
      const ledger = openLedger(mesh.home)
      try {
        const rows = ledger.rows("SELECT * FROM journal WHERE action = 'provider.checked'")
        expect(JSON.stringify(rows)).toContain(new URL(provider.baseUrl).host)
      } finally {
        ledger.close()
      }
    } finally {
      await elsewhere.close()
    }
  })

  it('a home without a provider sends a new key to an address that is kept only where that is given with it', async () => {
    const own = await startKeyedProvider({ models: ['hello'] })
    try {
      const body = { provider: 'groq', base_url: own.baseUrl, model: 'hello', make_default: false }
      const readiness = async () => {
        const { providers } = (await mesh.call(endpoints.setup)).json() as { providers: { name: string }[] }
        return providers.find(({ name }) => name === 'groq')
      }
      expect(await readiness()).toMatchObject({ key: 'none', ready: false, address: null })
      expect((await mesh.call(endpoints.setupProvider, { body })).status).toBe(200)
      const address = { url: own.baseUrl, from: 'file' }
      expect(await readiness()).toMatchObject({ key: 'none', ready: true, address })
      const before = own.requests()
      for (const endpoint of [endpoints.setupCheck, endpoints.setupProvider]) {
        const refused = await mesh.call(endpoint, {
          body: { provider: 'groq', key: 'gsk-real', model: 'hello' },
        })
        expect([refused.status, refused.json()['repair']]).toEqual([
          422,
          expect.stringContaining('https://api.groq.com/openai/v1'),
        ])
      }
      expect(own.requests()).toBe(before)
      const given = await mesh.call(endpoints.setupProvider, { body: { ...body, key: 'gsk-real' } })
      expect(given.status).toBe(200)
      expect(own.requests()).toBe(before + 1)
      await mesh.call(endpoints.setupProviderRemove, { params: { name: 'groq' } })
    } finally {
      await own.close()
    }
  })

  it('a home without a provider sends no request to an address that the settings forbid', async () => {
    const old = await startKeyedProvider({ models: ['hello'] })
    const other = await startKeyedProvider({ models: ['hello'] })
    const settingsFile = join(mesh.home, 'config', 'settings.json')
    const before = await readFile(settingsFile, 'utf8')
    const groq = { kind: 'openai-compatible', base_url: old.baseUrl }
    const offer = async () => {
      const { providers } = (await mesh.call(endpoints.setup)).json() as { providers: { name: string }[] }
      return providers.find(({ name }) => name === 'groq')
    }
    try {
      await writeFile(settingsFile, JSON.stringify({ ...JSON.parse(before), providers: { groq } }))
      const address = { url: old.baseUrl, from: 'settings' }
      await expect.poll(offer).toMatchObject({ key: 'none', ready: true, address })
      const body = { provider: 'groq', base_url: other.baseUrl, model: 'hello', make_default: false }
      for (const endpoint of [endpoints.setupCheck, endpoints.setupProvider]) {
        const { make_default, ...check } = body
        const refused = await mesh.call(endpoint, {
          body: endpoint === endpoints.setupCheck ? check : { ...check, make_default },
        })
        expect([refused.status, refused.json()['detail']]).toEqual([
          409,
          expect.stringContaining(old.baseUrl),
        ])
      }
      const [nobody, known] = [other.requests(), old.requests()]
      expect([nobody, known]).toEqual([0, 0])
      expect(
        (await mesh.call(endpoints.setupProvider, { body: { ...body, base_url: old.baseUrl } })).status,
      ).toBe(200)
      expect(await envFile()).not.toMatch(/GROQ/)
    } finally {
      await writeFile(settingsFile, before)
      await expect.poll(offer).toMatchObject({ ready: false, address: null })
      await Promise.all([old.close(), other.close()])
    }
  })

  it('a home without a provider lets no page change where prompts go without the owner’s proof', async () => {
    const page = { 'sec-fetch-site': 'same-origin', origin: mesh.url }
    const moved = await mesh.call(endpoints.setupProvider, {
      body: { provider: 'openai', base_url: 'http://127.0.0.1:9/v1', key: 'sk-of-an-attacker', model: 'x' },
      headers: page,
    })
    expect([moved.status, moved.json()['code']]).toEqual([403, 'proof-wanted'])
    const another = await mesh.call(endpoints.setupProvider, {
      body: { provider: 'openrouter', key: 'sk-of-an-attacker' },
      headers: page,
    })
    expect([another.status, another.json()['code']]).toEqual([403, 'proof-wanted'])
    expect(await envFile()).not.toContain('attacker')
  })

  it('a home without a provider takes a price of the owner’s, forgets a provider, and says what it lacks then', async () => {
    const price = { input_per_mtok: 1, output_per_mtok: 2 }
    await mesh.call(endpoints.setupPrice, { body: { model: 'openai/hello', price } })
    const settings = JSON.parse(await readFile(join(mesh.home, 'config', 'settings.json'), 'utf8')) as object
    expect(settings).toEqual({ default_model: 'openai/hello', models: { 'openai/hello': { price } } })
    const answersIn = async () =>
      JSON.parse(await readFile(join(mesh.home, 'config', 'settings.json'), 'utf8')) as object
    const set = await flotilla(mesh, 'models', 'answers', '--in', 'heartbeat', '--thinking', 'low')
    expect(set.out).toMatch(/all agents +heartbeat +low/)
    const own = ['models', 'answers', 'operator', '--in', 'chat']
    expect((await flotilla(mesh, ...own, '--max-output', '2000')).code).toBe(0)
    expect((await flotilla(mesh, ...own, '--thinking', 'high')).out).toMatch(/operator +chat +high +2000/)
    expect(await answersIn()).toMatchObject({
      answers: { heartbeat: { thinking: 'low' } },
      agents: { operator: { answers: { chat: { thinking: 'high', max_output_tokens: 2000 } } } },
    })
    expect((await flotilla(mesh, ...own, '--unset')).out).not.toContain('operator')
    expect((await flotilla(mesh, 'models', 'answers', '--thinking', 'low')).code).toBe(2)
    await mesh.call(endpoints.setupProviderRemove, { params: { name: 'openai' } })
    expect(await envFile()).not.toMatch(/OPENAI/)
    expect((await mesh.call(endpoints.setup)).json()).toMatchObject({ default_model: null })
    const gone = await mesh.call(endpoints.setupProviderRemove, { params: { name: 'openai' } })
    expect(gone.status).toBe(404)
  })
})
