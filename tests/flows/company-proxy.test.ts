import { expect, it, onTestFinished } from 'vitest'
import { startConnectProxy } from '../support/connect-proxy.ts'
import { flotillaWith } from '../support/flotilla-command.ts'
import { startLlmUpstream } from '../support/llm-upstream.ts'
import { startMeshForTest } from '../support/mesh-process.ts'

const name = 'models.corp.test'

async function aMesh(variables: (proxy: string) => Record<string, string>) {
  const upstream = await startLlmUpstream()
  const { port } = new URL(upstream.baseUrl)
  const proxy = await startConnectProxy({ [name]: Number(port) })
  onTestFinished(async () => {
    await upstream.close()
    await proxy.close()
  })
  const environment = { NODE_USE_ENV_PROXY: '1', ...variables(proxy.url) }
  const mesh = await startMeshForTest({
    environment,
    settings: {
      default_model: 'corp/m',
      providers: { corp: { kind: 'openai-compatible', base_url: `http://${name}:${port}/v1` } },
      models: { 'corp/m': { local: true } },
    },
  })
  return { mesh, proxy, environment, target: `CONNECT ${name}:${port}` }
}

it('a mesh behind a company’s proxy asks its provider through it, and nothing of its own goes there', async () => {
  const { mesh, proxy, environment, target } = await aMesh((url) => {
    const withPassword = url.replace('//', '//ann:secret-word@')
    return { HTTP_PROXY: withPassword, HTTPS_PROXY: withPassword, NO_PROXY: '' }
  })
  expect((await mesh.ask('hello')).outcome).toMatchObject({ status: 'done' })
  expect(new Set(proxy.asked)).toEqual(new Set([target]))

  const before = proxy.asked.length
  for (const words of [['status'], ['models'], ['chat', 'operator', 'hello again']]) {
    const { code, err } = await flotillaWith({ url: mesh.url, home: mesh.home, environment }, ...words)
    expect(err).not.toContain('a stranger read this')
    expect(code, `${words[0]}: ${err}`).toBe(0)
  }
  expect(proxy.asked.slice(before).filter((asked) => asked !== target)).toEqual([])

  const { out } = await flotillaWith({ home: mesh.home, environment }, 'doctor')
  expect(out).toMatch(new RegExp(`HTTP_PROXY: the proxy ${proxy.url} answers`))
  expect(out).not.toContain('secret-word')
})

it('a proxy that is down is named to the person, and its password is not', async () => {
  const { mesh, proxy, environment } = await aMesh((url) => ({
    HTTP_PROXY: url.replace('//', '//ann:secret-word@'),
  }))
  await proxy.close()
  const { outcome } = await mesh.ask('hello')
  expect(outcome).toMatchObject({ status: 'failed', code: 'provider-unreachable' })
  expect(outcome?.text).toContain(`the proxy ${proxy.url} does not answer`)
  const { out } = await flotillaWith({ home: mesh.home, environment }, 'doctor')
  expect(out).toContain(`the proxy ${proxy.url} does not answer`)
  expect(out + JSON.stringify(outcome)).not.toContain('secret-word')
})
