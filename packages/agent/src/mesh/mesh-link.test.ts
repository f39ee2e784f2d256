import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { Agent, createServer, request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { connect as connectPlainly, createServer as listenPlainly } from 'node:net'
import type { AddressInfo, Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { connect, createServer as listenKeyed, getCACertificates, setDefaultCACertificates } from 'node:tls'
import type { TLSSocket } from 'node:tls'
import { promisify } from 'node:util'
import { agentLinkClient, agentLinkServer } from '@flotilla/protocol/agent-link'
import { expect, onTestFinished, test } from 'vitest'
import { heldPort } from '../../../../tests/support/held-port.ts'
import { createMeshLink } from './mesh-link.ts'

/** A loopback address other than the one that serves the agent's programs. */
const meshHost = '127.0.0.2'
const key = Buffer.alloc(32, 7)
const identity = 'start-1.scout'

async function listening(server: Server, host = meshHost): Promise<number> {
  if (!server.listening) {
    server.listen(0, host)
    await once(server, 'listening')
  }
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

/** A mesh that echoes what it received, over keyed connections only. */
async function aMesh() {
  const received: string[] = []
  const server = listenKeyed(
    agentLinkServer((_: TLSSocket, told) => (told === identity ? key : null)),
    (socket) => {
      socket.on('error', () => undefined)
      socket.on('data', (piece) => {
        received.push(String(piece))
        socket.end(`mesh heard ${String(piece)}`)
      })
    },
  )
  // The relay listens at the same port of another address: one that the system gave for this address may be taken
  // there.
  server.listen(await heldPort(), meshHost)
  await once(server, 'listening')
  return { port: await listening(server), heard: received }
}

function aLink(port: number, ownKey: Uint8Array = key) {
  const link = createMeshLink({ identity, key: ownKey, mesh: { host: meshHost, port } })
  onTestFinished(() => link.close())
  return link
}

test('a program that speaks plainly to loopback comes to the mesh over a keyed line', async () => {
  const { port } = await aMesh()
  await aLink(port).relay([port])
  const program = connectPlainly({ port, host: '127.0.0.1', allowHalfOpen: true })
  program.write('a question')
  expect(await text(program)).toBe('mesh heard a question')
  program.destroy()
})

test('a program is hung up on where the mesh does not know the key', async () => {
  const { port, heard } = await aMesh()
  await aLink(port, Buffer.alloc(32, 8)).relay([port])
  const program = connectPlainly({ port, host: '127.0.0.1' })
  program.write('a secret')
  expect(await text(program).catch(() => '')).toBe('')
  expect(heard).toEqual([])
})

test('nothing is sent to a server that impersonates the mesh without its key', async () => {
  const heard: Buffer[] = []
  const server = listenPlainly((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', (piece: Buffer) => heard.push(piece))
    // A response that a TLS server never sends.
    setImmediate(() => socket.end('HTTP/1.1 200 OK\r\n\r\n'))
  })
  const line = aLink(await listening(server)).dial()
  line.write('door token')
  await once(line, 'error')
  expect(Buffer.concat(heard).includes('door token')).toBe(false)
})

test('the agent sends nothing to a mesh with a certificate that others would trust', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'agent-link-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const [keyFile, file] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')]
  const form = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=mesh'
  const named = ['-addext', `subjectAltName=IP:${meshHost}`, '-keyout', keyFile, '-out', file]
  await promisify(execFile)('openssl', [...form.split(' '), ...named])
  const before = getCACertificates('default')
  const certificate = await readFile(file, 'utf8')
  setDefaultCACertificates([certificate])
  onTestFinished(() => setDefaultCACertificates(before))
  const heard: string[] = []
  const server = listenKeyed({ key: await readFile(keyFile), cert: certificate }, (socket) => {
    socket.on('error', () => undefined)
    socket.on('data', (piece) => heard.push(String(piece)))
  })
  const port = await listening(server)
  const trusting = connect({ host: meshHost, port })
  await once(trusting, 'secureConnect')
  const saw = once(server, 'secureConnection')
  trusting.end('anything')
  const line = aLink(port).dial()
  line.write('door token')
  await once(line, 'error')
  await Promise.race([saw, once(line, 'close')])
  expect(heard.join('')).not.toContain('door token')
})

async function anAgent() {
  const server = createServer((_asked, reply) => reply.end('served'))
  const listener = aLink(0).listen(server, { port: 0, host: '127.0.0.1' })
  await once(listener, 'listening')
  return { server, port: await listening(listener, '127.0.0.1') }
}

function ask(port: number, ownKey: Uint8Array, told = identity): Promise<string> {
  const http = new Agent()
  http.createConnection = () =>
    connect({ host: '127.0.0.1', port, ...agentLinkClient({ identity: told, key: ownKey }) })
  const asked = request({ agent: http, path: '/' }).end()
  return once(asked, 'response').then(
    ([reply]) => text(reply as IncomingMessage),
    (error: unknown) => `refused: ${String(error)}`,
  )
}

test('the agent answers the mesh, and no client without its key', async () => {
  const { port } = await anAgent()
  expect(await ask(port, key)).toBe('served')
  expect(await ask(port, Buffer.alloc(32, 8))).toMatch(/^refused: /)
  expect(await ask(port, key, 'start-0.scout')).toMatch(/^refused: /)
  const plain = connectPlainly(port, '127.0.0.1').end('GET / HTTP/1.1\r\nhost: agent\r\n\r\n')
  expect(await text(plain).catch(() => '')).not.toContain('served')
})
