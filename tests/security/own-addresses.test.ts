import { createServer } from 'node:net'
import type { AddressInfo, Server } from 'node:net'
import { connect } from 'node:net'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { headers } from '@flotilla/protocol/headers'
import { meshAgentEndpoints } from '@flotilla/protocol/mesh-agent-api'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { agentAtWork, longWork } from '../support/agent-at-work.ts'
import type { AgentAtWork } from '../support/agent-at-work.ts'
import { httpCall } from '../support/http-call.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { startNameServer } from '../support/name-server.ts'
import type { NameServer } from '../support/name-server.ts'
import { ownAddressSpellings, ownAddresses, urlSpellings } from '../support/own-address-spellings.ts'

/** Names in a DNS zone of the attacker. */
const leading: Readonly<Record<string, readonly string[]>> = {
  'loop.outside.test': ['127.0.0.1'],
  'loop6.outside.test': ['::1'],
  'mapped.outside.test': ['::ffff:127.0.0.1'],
  'any.outside.test': ['0.0.0.0'],
  'both.outside.test': ['93.184.216.34', '127.0.0.1'],
  'here.outside.test': ownAddresses('IPv4').slice(0, 4),
  '127.0.0.1.outside.test': ['127.0.0.1'],
}
const spellings = ownAddressSpellings(Object.keys(leading))

describe('with every port opened by the owner', () => {
  let mesh: MeshProcess
  let names: NameServer
  let agent: AgentAtWork & { readonly proxy: URL }
  /** A program of the owner on all addresses of this machine, which no agent may reach. */
  let bystander: Server
  let reached = 0
  let ports: readonly number[] = []

  beforeAll(async () => {
    names = await startNameServer((name) => leading[name.toLowerCase()] ?? null)
    bystander = createServer((socket) => {
      reached++
      socket.on('error', () => undefined).end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
    })
    await new Promise<void>((resolve) => bystander.listen(0, '::', resolve))
    mesh = await startMesh({ cassettes: { works: longWork }, settings: settingsWith([]) })
    await mesh.createWorker('ann')
    const state = JSON.parse(readFileSync(join(mesh.home, 'data', 'mesh.json'), 'utf8')) as Record<
      string,
      number
    >
    const own = (bystander.address() as AddressInfo).port
    ports = [Number(new URL(mesh.url).port), Number(state['agent_port']), Number(state['proxy_port']), own]
    writeFileSync(join(mesh.home, 'config', 'settings.json'), JSON.stringify(settingsWith(ports)))
    await mesh.kill9()
    await mesh.restart()
    const working = await agentAtWork(mesh, 'ann')
    agent = { ...working, proxy: new URL(working.environment['HTTP_PROXY'] ?? '') }
  })
  afterAll(async () => {
    await mesh?.stop()
    names?.close()
    await new Promise((resolve) => bystander?.close(resolve))
  })
  beforeEach(() => mesh.restartIfStopped())

  const settingsWith = (allowed: readonly number[]) => ({
    default_model: 'scripted/works',
    rate_limits: { http: 1_000_000 },
    egress: { dns_servers: [`127.0.0.1:${names.port}`], allowed_ports: [80, 443, ...allowed] },
  })

  /** Sends raw text to the proxy and returns the whole answer. */
  function raw(text: string): Promise<string> {
    const { username, password, port } = agent.proxy
    const proof = Buffer.from(`${username}:${password}`).toString('base64')
    return new Promise((resolve, reject) => {
      const socket = connect({ port: Number(port), host: '127.0.0.1' })
      let said = ''
      socket.setTimeout(20_000, () => socket.destroy(new Error(`${text}: no answer`)))
      socket.on('data', (piece: Buffer) => {
        said += piece.toString()
        if (said.startsWith('HTTP/1.1 200 ')) socket.destroy()
      })
      socket.once('close', () => resolve(said))
      socket.once('error', reject)
      socket.write(`${text} HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Basic ${proof}\r\n\r\n`)
    })
  }
  const codeIn = (answer: string) => /"code":"([a-z-]+)"/.exec(answer)?.[1] ?? answer.slice(0, 80)

  /**
   * Addresses of this machine are refused, names that no server knows are unresolved, and other text is a bad
   * request.
   */
  const expected = /^(?:address-refused|name-unresolved|bad-request)$/
  const isLiteral = (spelling: string) => /^[\d.xX[\]:a-fA-F]+$/.test(spelling)

  it('no spelling of an address of this machine leads to one of its ports by CONNECT', async () => {
    const before = reached
    const codes = new Map<string, number>()
    for (const port of ports) {
      for (const spelling of spellings) {
        const code = codeIn(await raw(`CONNECT ${spelling}:${port}`))
        expect(`${spelling}:${port} ${code}`).toMatch(new RegExp(` ${expected.source.slice(1)}`))
        codes.set(code, (codes.get(code) ?? 0) + 1)
      }
    }
    expect(codes.get('address-refused')).toBeGreaterThan(100 * ports.length - 1)
    expect(reached).toBe(before)
  })

  it('no spelling of an address of this machine leads to one of its ports as a whole address', async () => {
    const before = reached
    for (const port of ports) {
      for (const spelling of [...spellings, ...urlSpellings.filter((one) => !/[^\x20-\x7e]/.test(one))]) {
        const code = codeIn(await raw(`GET http://${spelling}:${port}/healthz`))
        expect(`${spelling}:${port} ${code}`).toMatch(new RegExp(` ${expected.source.slice(1)}`))
      }
    }
    expect(reached).toBe(before)
  })

  it('no spelling of an address of this machine leads to one of its ports by the http_request tool', async () => {
    const before = reached
    for (const port of [ports[0], ports[3]]) {
      for (const spelling of [...spellings, ...urlSpellings]) {
        const reply = await httpCall({
          method: meshAgentEndpoints.httpRequest.method,
          url: `${agent.api}${meshAgentEndpoints.httpRequest.path}`,
          headers: {
            authorization: `Bearer ${agent.token}`,
            'content-type': 'application/json',
            [headers.runId]: agent.run.id,
            [headers.runFence]: String(agent.run.fence),
            [headers.idempotencyKey]: `${agent.run.id}:${port}:${encodeURIComponent(spelling)}`,
          },
          body: JSON.stringify({ url: `http://${spelling}:${port}/healthz` }),
        })
        expect(`${spelling}:${port} ${codeIn(reply.text)}`).toMatch(
          new RegExp(` ${expected.source.slice(1)}`),
        )
      }
    }
    expect(reached).toBe(before)
  })

  it('an address is refused as such, and not as a port or a name', async () => {
    const codes: string[] = []
    for (const spelling of spellings.filter(isLiteral))
      codes.push(`${spelling} ${codeIn(await raw(`CONNECT ${spelling}:${ports[0]}`))}`)
    expect(codes.filter((line) => !/ (?:address-refused|bad-request)$/.test(line))).toEqual([])
    expect(codes.filter((line) => line.endsWith(' address-refused')).length).toBeGreaterThan(60)
  })

  it('what is refused says whether it was the port, the address, the name or the permission', async () => {
    expect(codeIn(await raw('CONNECT 93.184.216.34:22'))).toBe('port-refused')
    expect(codeIn(await raw('CONNECT 10.0.0.1:443'))).toBe('address-refused')
    expect(codeIn(await raw('CONNECT nowhere.outside.test:443'))).toBe('name-unresolved')
  })
})
