import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { promisify } from 'node:util'
import { journalEndpoints } from '@flotilla/protocol/journal-api'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { meshInternalEndpoints } from '@flotilla/protocol/mesh-internal-api'
import { webhookApi, webhookEndpoints } from '@flotilla/protocol/webhook-api'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { heldPort } from '../support/held-port.ts'
import { canBeHosted, hostedToken, onHostedMachine, sessionOf } from '../support/hosted-machine.ts'
import { httpCall } from '../support/http-call.ts'
import { meshArguments, openMesh, pinnedNode, repositoryRoot, startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { expectProblem } from '../support/problem-matcher.ts'
import { heedsLesson, verifies } from '../verifies.ts'
import { fetchNginx, startNginx } from './nginx.ts'
import type { Nginx } from './nginx.ts'
import { cliProgram } from '../support/programs.ts'

const run = promisify(execFile)
const token = hostedToken
const status: string = meshHumanEndpoints.status.path
const asks = (url: string, headers: Record<string, string> = {}, path = status) =>
  httpCall({ method: 'GET', url: `${url}${path}`, headers })
const cookie = (secret = token, seconds = 600) => ({
  cookie: `ol_session=${sessionOf(secret, seconds)}`,
})

/** Creates a webhook without a secret and returns its path. */
async function aHook(mesh: MeshProcess, headers: Record<string, string> = {}): Promise<string> {
  const body = { name: 'outside', agent_id: 'operator', signed: false }
  const reply = await mesh.call(webhookEndpoints.webhookCreate, { body, headers })
  return webhookApi.webhookCreate.response.parse(reply.json()).webhook.path
}
const delivers = (url: string) =>
  httpCall({
    method: 'POST',
    url,
    headers: { 'content-type': 'application/json' },
    body: '{"from":"outside"}',
  })

describe.skipIf(!canBeHosted)('the servers behind a real reverse proxy', () => {
  let folder: string
  let nginx: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'flotilla-hosted-'))
    nginx = await fetchNginx(folder)
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  async function proxyTo(mesh: MeshProcess, location: readonly string[], user = 'www-data'): Promise<Nginx> {
    const proxy = await startNginx({
      program: nginx,
      port: await heldPort(),
      target: mesh.url,
      location,
      user,
    })
    onTestFinished(() => proxy.stop())
    return proxy
  }

  describe('self-hosted', () => {
    let mesh: MeshProcess
    beforeAll(async () => {
      mesh = await startMesh()
    })
    afterAll(() => mesh.stop())

    it.each([
      ['as the distribution sets it up', [], 'www-data'],
      ['as the distribution sets it up, with workers of our own user', [], 'root'],
      ['that speaks HTTP/1.1 and adds nothing', ['proxy_http_version 1.1;'], 'www-data'],
      [
        'that passes the Host it was called by',
        ['proxy_http_version 1.1;', 'proxy_set_header Host fleet.example;'],
        'root',
      ],
      [
        'that says for whom it asks',
        ['proxy_http_version 1.1;', 'proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;'],
        'root',
      ],
    ])('an nginx %s is no human and no program of this machine', async (_how, location, user) => {
      heedsLesson(4)
      verifies('authentication:internal:header', 'authentication:internal:loopback')
      const proxy = await proxyTo(mesh, location, user)
      expectProblem(await asks(proxy.url), 'host-refused', 'unauthenticated')
      const inside = meshInternalEndpoints.journalVerify.path
      expectProblem(await asks(proxy.url, { 'x-mesh-internal': '1' }, inside), 'unauthenticated')
      // Public endpoints answer, so that a proxy can monitor the mesh.
      expect((await asks(proxy.url, {}, '/healthz')).status).toBe(200)
      expect((await asks(mesh.url)).status).toBe(200)
      // A delivery needs no session; creating a webhook does.
      expect((await delivers(`${proxy.url}${await aHook(mesh)}`)).status).toBe(202)
      expectProblem(
        await delivers(`${proxy.url}${webhookEndpoints.webhookCreate.path}`),
        'host-refused',
        'unauthenticated',
      )
    })

    it('another user of this machine owns nothing, until the owner says so', async () => {
      const asNobody = () =>
        run('curl', ['-s', '-o', '/dev/null', '-w', '%{http_code}', `${mesh.url}${status}`], {
          uid: 65_534,
          gid: 65_534,
        })
      expect((await asNobody()).stdout).toBe('401')
      const open = await startMesh({ settings: { local_users: [65_534] } })
      onTestFinished(() => open.stop())
      const asked = await run(
        'curl',
        ['-s', '-o', '/dev/null', '-w', '%{http_code}', `${open.url}${status}`],
        {
          uid: 65_534,
          gid: 65_534,
        },
      )
      expect(asked.stdout).toBe('200')
    })

    it('self-hosted is not opened to other machines without an access token', async () => {
      const home = await mkdtemp(join(tmpdir(), 'flotilla-bind-'))
      onTestFinished(() => rm(home, { recursive: true, force: true }))
      const bound = openMesh(home, { environment: { FLOTILLA_PUBLIC_BIND: `127.0.0.1:${await heldPort()}` } })
      await expect(bound.restart()).rejects.toThrow(/access_token/)
    })
  })

  describe('hosted', () => {
    let mesh: MeshProcess
    let outside: string
    beforeAll(async () => {
      outside = `127.0.0.2:${await heldPort()}`
      mesh = await startMesh({
        startedBy: onHostedMachine,
        environment: { FLOTILLA_PUBLIC_BIND: outside },
      })
    })
    afterAll(() => mesh.stop())

    it('a session opens the API, directly, through nginx, and on the address for other machines', async () => {
      verifies('authentication:dashboard:cookie-required', 'authentication:dashboard:cookie-hmac')
      const proxy = await proxyTo(mesh, ['proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;'])
      for (const url of [mesh.url, proxy.url, `http://${outside}`]) {
        expect((await asks(url, cookie())).status, url).toBe(200)
        expectProblem(await asks(url), 'unauthenticated')
        expectProblem(await asks(url, cookie('another-token')), 'unauthenticated')
        expectProblem(await asks(url, cookie(token, -1)), 'unauthenticated')
        expectProblem(await asks(url, { ...cookie(), authorization: 'Bearer x' }), 'unauthenticated')
        const write = { method: 'POST', url: `${url}${meshHumanEndpoints.recordingStart.path}` }
        expectProblem(await httpCall({ ...write, headers: cookie() }), 'denied')
        expect((await delivers(`${url}${await aHook(mesh, cookie())}`)).status, url).toBe(202)
        expectProblem(await delivers(`${url}${webhookEndpoints.webhookCreate.path}`), 'unauthenticated')
      }
    })

    it('metrics and journal are the owner’s alone: no session from outside opens them', async () => {
      const proxy = await proxyTo(mesh, ['proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;'])
      for (const path of [meshHumanEndpoints.metrics.path, journalEndpoints.journalExport.path]) {
        for (const url of [proxy.url, `http://${outside}`])
          expectProblem(await asks(url, cookie(), path), 'denied')
        expect((await asks(mesh.url, cookie(), path)).status).toBe(200)
        expectProblem(await asks(mesh.url, {}, path), 'unauthenticated')
      }
      for (const url of [proxy.url, `http://${outside}`]) {
        const accept = `${url}${journalEndpoints.journalAccept.path}`
        const write = { ...cookie(), 'x-requested-with': 'test' }
        expectProblem(await httpCall({ method: 'POST', url: accept, headers: write }), 'denied')
      }
    })

    it('nothing internal is on the address for other machines', async () => {
      const path = meshInternalEndpoints.journalVerify.path
      const asked = await asks(`http://${outside}`, { 'x-mesh-internal': '1', ...cookie() }, path)
      expectProblem(asked, 'not-found')
      expectProblem(
        await asks(mesh.url, { 'x-mesh-internal': '1', 'x-forwarded-for': '1.2.3.4' }, path),
        'unauthenticated',
      )
    })

    it('the command line works on the machine by itself, and elsewhere with a session', async () => {
      const inside = ['--target', String(mesh.pid), '--mount', pinnedNode, cliProgram]
      const own = await run('nsenter', [...inside, 'status', '--json', '--home', mesh.home])
      expect(JSON.parse(own.stdout)).toMatchObject({ ready: { ready: true } })
      const proxy = await proxyTo(mesh, [])
      const elsewhere = [cliProgram, 'status', '--json', '--url', proxy.url]
      const session = cookie().cookie.replace('ol_session=', '')
      const env = { ...process.env, FLOTILLA_SESSION: session }
      const told = await run(pinnedNode, elsewhere, { env })
      expect(JSON.parse(told.stdout)).toMatchObject({ ready: { ready: true } })
      await expect(run(pinnedNode, elsewhere)).rejects.toMatchObject({
        stderr: expect.stringContaining('ol_session'),
      })
    })

    it('a caller without permission to read the access token gets no session', async () => {
      const inside = ['--target', String(mesh.pid), '--mount']
      // A bind mount through which every user may read the program; only its owner may enter the original folder.
      const open = '/mnt/'
      await run('nsenter', [...inside, 'mount', '--bind', repositoryRoot, open])
      const program = [pinnedNode, ...meshArguments('session')]
      const asked = [...inside, ...program.map((part) => part.replace(repositoryRoot, open))]
      await run('nsenter', [...inside, 'chmod', '600', '/opt/flotilla/.access_token'])
      const signed = await run('nsenter', asked)
      expect(JSON.parse(signed.stdout)).toEqual({ session: expect.stringMatching(/^\d+\.[0-9a-f]{64}$/) })
      const asNobody = ['--setuid', '65534', '--setgid', '65534', ...asked]
      await expect(run('nsenter', asNobody)).rejects.toMatchObject({
        stdout: expect.stringContaining('unauthenticated'),
      })
    })
  })
})
