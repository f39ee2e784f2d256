import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inspectionHumanEndpoints } from '@flotilla/protocol/inspection-api'
import { vaultHumanEndpoints } from '@flotilla/protocol/vault-api'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { sandboxName } from '../../packages/fleet/src/sandbox/sandbox-spec.ts'
import { createCanaryHunt } from '../support/canary-hunt.ts'
import { aCassette, says } from '../support/cassettes.ts'
import { editPermissions } from '../support/edit-permissions.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { startNameServer } from '../support/name-server.ts'
import type { NameServer } from '../support/name-server.ts'
import { startPackageSite } from '../support/package-site.ts'
import type { PackageSite } from '../support/package-site.ts'
import { engineOfThisMachine, withEngine } from './sandbox-lane.ts'

const found = await engineOfThisMachine()
const host = 'packages.outside.test'
const secret = 'ghp_cAnaRy0fTheInspectedHostsTest0123456'
const idle = aCassette({ when: 'nothing', turns: [says('Nothing.')] })

withEngine(
  'ordinary programs and inspected hosts',
  (engine) => {
    let mesh: MeshProcess
    let site: PackageSite
    let names: NameServer

    beforeAll(async () => {
      site = await startPackageSite(host, secret)
      names = await startNameServer((name) => (name.endsWith('.outside.test') ? ['127.0.0.1'] : null))
      const authorities = join(process.env['TMPDIR'] ?? '/tmp', `flotilla-inspected-${process.pid}.pem`)
      await writeFile(authorities, site.certificate)
      mesh = await startMesh({
        runtime: 'docker',
        cassettes: { idle },
        environment: { FLOTILLA_NO_INSTALL: '1', NODE_EXTRA_CA_CERTS: authorities },
        settings: {
          rate_limits: { http: 100_000 },
          egress: {
            dns_servers: [`127.0.0.1:${names.port}`],
            allowed_private: [`${host}:${site.tlsPort}`, `tunnel.outside.test:${site.tlsPort}`],
            inspected_hosts: [host],
          },
        },
      })
      for (const id of ['clerk', 'other']) await mesh.createWorker(id)
      await mesh.call(vaultHumanEndpoints.credentialSet, {
        params: { name: 'github' },
        body: {
          value: secret,
          hosts: [`${host}:${site.tlsPort}`],
          programs: ['git', 'npm', 'netrc', 'env:GH_TOKEN'],
        },
      })
      await editPermissions(mesh, 'clerk', { allowed_credentials: ['github'] })
    })
    afterAll(async () => {
      await mesh?.stop()
      await site?.close()
      names?.close()
    })

    async function inside(agent: string, command: string): Promise<string> {
      const run = await mesh.invoke(agent, 'run_command', { command, timeout_s: 200 })
      const { result } = run.outcome ?? {}
      return typeof result === 'string' ? result : `${run.outcome?.text} ${JSON.stringify(result)}`
    }
    const tls = () => `https://${host}:${site.tlsPort}`
    const seen = () => site.requests.map(({ headers }) => headers.authorization ?? '')

    it('programs trust the fleet’s authority without any option, also without their environment', async () => {
      const url = `${tls()}/page`
      expect(await inside('clerk', `curl -sS ${url}`)).toBe('exit code 0\na page from outside')
      expect(await inside('clerk', `env -i https_proxy="$https_proxy" curl -sS ${url}`)).toBe(
        'exit code 0\na page from outside',
      )
      const python = `import urllib.request as r; print(r.urlopen("${url}").read().decode())`
      expect(await inside('clerk', `python3 -c '${python}'`)).toBe('exit code 0\na page from outside\n')
      expect(await inside('clerk', `env -i https_proxy="$https_proxy" python3 -c '${python}'`)).toBe(
        'exit code 0\na page from outside\n',
      )
      expect(await inside('clerk', `node -e "fetch('${url}').then(r => r.text()).then(console.log)"`)).toBe(
        'exit code 0\na page from outside\n',
      )
      expect(await inside('clerk', `curl -sS ${tls()}/large | wc -c`)).toBe(
        `exit code 0\n${8 * 1024 * 1024}\n`,
      )
    })

    it('a program finds a placeholder of the same form, and the host receives the value', async () => {
      const said = await inside('clerk', 'echo "$GH_TOKEN"')
      expect(said).toMatch(/^exit code 0\nghp_[A-Za-z0-9]{36}\n$/)
      expect(said).not.toContain(secret)
      const echoed = await inside('clerk', `curl -sS -H "Authorization: Bearer $GH_TOKEN" ${tls()}/echo`)
      expect(seen()).toContain(`Bearer ${secret}`)
      expect(echoed).toContain('Bearer [secret]')
      expect(echoed).not.toContain(secret)
    })

    it('git clones and pushes with its credential helper', async () => {
      const said = await inside(
        'clerk',
        `export GIT_AUTHOR_NAME=c GIT_AUTHOR_EMAIL=c@x GIT_COMMITTER_NAME=c GIT_COMMITTER_EMAIL=c@x;
         git clone -q ${tls()}/locked/repository.git cloned && cat cloned/from-outside.txt &&
         cd cloned && git commit -q --allow-empty -m More && git push -q origin HEAD:more && git ls-remote origin more`,
      )
      expect(said).toMatch(/^exit code 0\ncloned through the proxy\n[0-9a-f]{40}\trefs\/heads\/more\n$/)
    })

    it('npm sends its token, and curl the one of the netrc file', async () => {
      const npm = await inside(
        'clerk',
        `mkdir -p installs && cd installs && npm install --registry ${tls()}/npm/ --no-audit --no-fund --no-update-notifier far-package >npm.log 2>&1; node -p "require('far-package')" || cat npm.log`,
      )
      expect(npm).toBe('exit code 0\ninstalled from outside\n')
      expect(site.requests.find(({ url }) => url.includes('far-package'))?.headers.authorization).toBe(
        `Bearer ${secret}`,
      )
      await inside('clerk', `curl -sS --netrc-file "$NETRC" ${tls()}/page`)
      expect(seen()).toContain(`Basic ${Buffer.from(`x-access-token:${secret}`).toString('base64')}`)
    })

    it('an agent without the permission has no placeholder, and the placeholder of another agent is only text', async () => {
      const own = /ghp_\w+/.exec(await inside('clerk', 'echo "$GH_TOKEN"'))?.[0] ?? ''
      expect(await inside('other', 'echo "[$GH_TOKEN]"; ls /briefing')).not.toMatch(
        /ghp_|npmrc|netrc|gitconfig/,
      )
      await inside('other', `curl -sS -H "X-Stolen: ${own}" ${tls()}/page`)
      expect(site.requests.at(-1)?.headers['x-stolen']).toBe(own)
    })

    it('a client that does not trust the authority is reported, and every other host stays a tunnel', async () => {
      expect(
        await inside(
          'clerk',
          `curl -sS --cacert /etc/hostname ${tls()}/page 2>&1; curl -sS --capath /none --cacert <(true) ${tls()}/page 2>&1`,
        ),
      ).not.toContain('a page')
      await inside(
        'clerk',
        `python3 -c 'import ssl,urllib.request as r; r.urlopen("${tls()}/page", context=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))' 2>&1`,
      )
      const view = await mesh.call(inspectionHumanEndpoints.inspection)
      expect(view.json()).toMatchObject({
        hosts: [host],
        failures: expect.arrayContaining([
          expect.objectContaining({ agent_id: 'clerk', host, why: 'untrusted' }),
        ]) as unknown,
      })
      const issuer = await inside(
        'clerk',
        `curl -sSkv https://tunnel.outside.test:${site.tlsPort}/page 2>&1 | grep issuer; curl -sSv ${tls()}/page 2>&1 | grep issuer`,
      )
      expect(issuer).toMatch(/issuer: CN=packages\.outside\.test[\s\S]*issuer: CN=Flotilla fleet [0-9a-f]{8}/)
    })

    it('the value is nowhere in the container and nowhere in the home but in its environment file', async () => {
      const hunt = createCanaryHunt([{ name: 'github', value: secret }])
      const homeId = (await readFile(join(mesh.home, 'data', 'home-id'), 'utf8')).trim()
      const container = engine.docker.getContainer(sandboxName(homeId, 'clerk'))
      hunt.search('settings', JSON.stringify(await container.inspect()))
      hunt.search('log', await container.logs({ stdout: true, stderr: true, follow: false }))
      for (const folder of ['/data', '/briefing', '/etc']) {
        const pieces: Buffer[] = []
        for await (const piece of await container.getArchive({ path: folder }))
          pieces.push(Buffer.from(piece))
        hunt.search(folder, Buffer.concat(pieces))
      }
      const { Processes } = (await container.top({ ps_args: '-eo pid' })) as { Processes: string[][] }
      for (const [pid = ''] of Processes) hunt.search('environ', await readFile(`/proc/${pid}/environ`))
      hunt.search('what the mesh printed', mesh.log())
      await hunt.searchFolder(mesh.home, [join(mesh.home, '.env')])
      expect(hunt.searchDatabase(join(mesh.home, 'data', 'mesh.db'))).toBeGreaterThan(50)
      expect(hunt.findings()).toEqual([])
    })
  },
  found,
)
