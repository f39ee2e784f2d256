import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { controlApi, controlEndpoints } from '@flotilla/protocol/control-api'
import { vaultHumanEndpoints } from '@flotilla/protocol/vault-api'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { aCassette, runs, says } from '../support/cassettes.ts'
import { editPermissions } from '../support/edit-permissions.ts'
import { eventually } from '../support/eventually.ts'
import { layPolicy } from '../support/lay-policy.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { startNameServer } from '../support/name-server.ts'
import type { NameServer } from '../support/name-server.ts'
import { startPackageSite } from '../support/package-site.ts'
import type { PackageSite } from '../support/package-site.ts'
import { engineOfThisMachine, withEngine } from './sandbox-lane.ts'

const found = await engineOfThisMachine()
const host = 'code.outside.test'
const secret = 'ghp_cAnaRy0fTheAskedPushesTest0123456789'
const author = 'export GIT_AUTHOR_NAME=c GIT_AUTHOR_EMAIL=c@x GIT_COMMITTER_NAME=c GIT_COMMITTER_EMAIL=c@x'

withEngine(
  'git pushes that a rule asks for',
  (_engine) => {
    let mesh: MeshProcess
    let site: PackageSite
    let names: NameServer

    beforeAll(async () => {
      site = await startPackageSite(host, secret)
      names = await startNameServer((name) => (name === host ? ['127.0.0.1'] : null))
      const authorities = join(process.env['TMPDIR'] ?? '/tmp', `flotilla-pushes-${process.pid}.pem`)
      await writeFile(authorities, site.certificate)
      const url = `https://${host}:${site.tlsPort}/locked/repository.git`
      const work = aCassette(
        {
          when: '^push$',
          turns: [
            runs(
              `${author}; git clone -q ${url} asked && cd asked && git commit -q --allow-empty -m Asked && git push -q origin HEAD:asked 2>&1; echo end`,
            ),
            says('The push waits for a person.'),
          ],
        },
        {
          when: '^What you asked a person for .* is done\\.',
          turns: [
            says('{{outcome}}', {
              capture: { outcome: '(The request was sent once and answered with status \\d+)' },
            }),
          ],
        },
      )
      mesh = await startMesh({
        runtime: 'docker',
        cassettes: { work },
        environment: { FLOTILLA_NO_INSTALL: '1', NODE_EXTRA_CA_CERTS: authorities },
        settings: {
          rate_limits: { http: 100_000 },
          egress: {
            dns_servers: [`127.0.0.1:${names.port}`],
            allowed_private: [`${host}:${site.tlsPort}`],
            inspected_hosts: [host],
          },
        },
      })
      await mesh.createWorker('clerk')
      await mesh.call(vaultHumanEndpoints.credentialSet, {
        params: { name: 'github' },
        body: { value: secret, hosts: [`${host}:${site.tlsPort}`], programs: ['git'] },
      })
      await editPermissions(mesh, 'clerk', { allowed_credentials: ['github'] })
      await layPolicy(mesh, `rules:\n  - { preset: git-host, hosts: ${host} }\n`, 'git-host')
    })
    afterAll(async () => {
      await mesh?.stop()
      await site?.close()
      names?.close()
    })

    const pushes = () => site.requests.filter(({ url }) => url.endsWith('/git-receive-pack'))
    const waiting = () =>
      eventually('the push waits for a person', async () => {
        const { pending } = controlApi.pending.response.parse(
          (await mesh.call(controlEndpoints.pending)).json(),
        )
        return pending[0] ?? null
      })
    const confirm = ({ id, digest }: { readonly id: string; readonly digest: string }) =>
      mesh.call(controlEndpoints.pendingConfirm, { params: { id }, body: { digest } })
    const branches = async () => {
      const { outcome } = await mesh.invoke('clerk', 'run_command', {
        command: `git ls-remote https://${host}:${site.tlsPort}/locked/repository.git`,
        timeout_s: 60,
      })
      return JSON.stringify(outcome)
    }

    it('git clones at once, and its push is kept, shown, and sent once after a person approved it', async () => {
      const runId = await mesh.submit('push', { agent: 'clerk' })
      const one = await waiting()
      expect(one).toMatchObject({ kind: 'program-request', asked_by: 'agent:clerk', run_id: runId })
      expect(one.consequences.join('\n')).toMatch(
        /The push creates "refs\/heads\/asked" at [0-9a-f]{40}\.[\s\S]*credential github[\s\S]*rule git-host\/push/,
      )
      expect(JSON.stringify(one)).not.toContain(secret)
      await eventually('the run waits', async () => (await mesh.run(runId)).state === 'waiting')
      expect(pushes()).toEqual([])
      expect(await branches()).not.toContain('refs/heads/asked')

      expect((await confirm(one)).json()).toMatchObject({ state: 'done' })
      expect((await mesh.ended(runId)).outcome).toMatchObject({
        status: 'done',
        text: 'The request was sent once and answered with status 200',
      })
      expect(await branches()).toContain('refs/heads/asked')
      expect((await confirm(one)).status).toBe(409)
      expect(pushes()).toHaveLength(1)
      const key = Buffer.from(`x-access-token:${secret}`).toString('base64')
      expect(pushes()[0]?.headers.authorization).toBe(`Basic ${key}`)
    })

    it('a push that the owner holds open ends well as soon as a person approves it', async () => {
      const file = join(mesh.home, 'config', 'settings.json')
      const settings = JSON.parse(await readFile(file, 'utf8')) as { egress: object }
      await writeFile(
        file,
        JSON.stringify({ ...settings, egress: { ...settings.egress, hold_asked_seconds: 300 } }),
      )
      const before = pushes().length
      const pushed = mesh.invoke('clerk', 'run_command', {
        command: `${author}; rm -rf held; git clone -q https://${host}:${site.tlsPort}/locked/repository.git held && cd held && git commit -q --allow-empty -m Held && git push -q origin HEAD:held && echo pushed`,
        timeout_s: 200,
      })
      const one = await waiting()
      expect(pushes()).toHaveLength(before)
      await confirm(one)
      const { outcome } = await pushed
      expect(outcome?.result).toBe('exit code 0\npushed\n')
      expect(pushes()).toHaveLength(before + 1)
      expect(await branches()).toContain('refs/heads/held')
    })
  },
  found,
)
