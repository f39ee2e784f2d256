import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startPackageSite } from '../../../../../tests/support/package-site.ts'
import type { PackageSite } from '../../../../../tests/support/package-site.ts'
import { anInspectingProxy } from '../../../../testing/src/inspection-harness.ts'
import type { InspectionHarness } from '../../../../testing/src/inspection-harness.ts'

const host = 'code.test'
let site: PackageSite
let proxy: InspectionHarness
let folder = ''

beforeAll(async () => {
  site = await startPackageSite(host, 'a password')
  const outside = { certificate: site.certificate }
  proxy = await anInspectingProxy({ hosts: [host], outside, ports: [site.tlsPort] })
  folder = await mkdtemp(join(tmpdir(), 'flotilla-programs-'))
  await writeFile(join(folder, 'fleet.pem'), proxy.fleet.certificate)
  await mkdir(join(folder, 'home'))
})
afterAll(async () => {
  await proxy?.close()
  await site?.close()
  await rm(folder, { recursive: true, force: true })
})

const url = () => `https://${host}:${site.tlsPort}`

/** Runs a program as a container does: behind the proxy, with the certificate of the fleet. */
function program(command: string): Promise<string> {
  const bundle = join(folder, 'fleet.pem')
  const env = {
    PATH: process.env['PATH'],
    HOME: join(folder, 'home'),
    https_proxy: `http://scout:scout-program@127.0.0.1:${proxy.port}`,
    CURL_CA_BUNDLE: bundle,
    GIT_SSL_CAINFO: bundle,
    SSL_CERT_FILE: bundle,
    GIT_TERMINAL_PROMPT: '0',
  }
  const author = 'export GIT_AUTHOR_NAME=c GIT_AUTHOR_EMAIL=c@x GIT_COMMITTER_NAME=c GIT_COMMITTER_EMAIL=c@x'
  return new Promise((resolve) => {
    execFile('sh', ['-c', `${author}; ${command}`], { cwd: folder, env }, (_error, out, errors) =>
      resolve(out + errors),
    )
  })
}

const versions = (path: string) =>
  new Set(site.requests.filter(({ url: seen }) => seen.includes(path)).map(({ version }) => version))

describe('programs of this machine at an inspected host', () => {
  test('git clones and pushes over HTTP/2', async () => {
    const locked = url().replace('//', '//x-access-token:a%20password@')
    const said = await program(
      `git clone -q ${locked}/locked/repository.git cloned && cat cloned/from-outside.txt && cd cloned &&
       git commit -q --allow-empty -m More && git push -q origin HEAD:more && git ls-remote origin more`,
    )
    expect(said).toMatch(/^cloned through the proxy\n[0-9a-f]{40}\trefs\/heads\/more\n$/)
    expect(versions('git-receive-pack')).toEqual(new Set(['2.0']))
    expect(proxy.decided.map(({ path }) => path)).toContain('/locked/repository.git/git-receive-pack')
  })

  test('curl downloads by the version of HTTP that it is told to speak', async () => {
    expect(await program(`curl -sS --http2 ${url()}/page?two`)).toBe('a page from outside')
    expect(await program(`curl -sS --http1.1 ${url()}/page?one`)).toBe('a page from outside')
    expect(await program(`curl -sS --http2 ${url()}/large | wc -c`)).toBe(`${8 * 1024 * 1024}\n`)
    expect(versions('?two')).toEqual(new Set(['2.0']))
    expect(versions('?one')).toEqual(new Set(['1.1']))
  })

  test('Python, which speaks HTTP/1.1 alone, reaches the same host', async () => {
    const python = `import urllib.request as r; print(r.urlopen("${url()}/page?python").read().decode())`
    expect(await program(`python3 -c '${python}'`)).toBe('a page from outside\n')
    expect(versions('?python')).toEqual(new Set(['1.1']))
  })

  test('another name in TLS, another Host and an absolute address get nothing to the server', async () => {
    const before = site.requests.length
    const evil = `evil.test:${site.tlsPort}`
    const attacks = [
      `--connect-to ${evil}:${host}:${site.tlsPort} https://${evil}/sni`,
      `--http1.1 -H 'Host: evil.test' ${url()}/host`,
      `--http2 -H 'Host: evil.test' ${url()}/host`,
      `--http1.1 --request-target https://evil.test/ ${url()}/absolute`,
      `--http2 --request-target https://evil.test/ ${url()}/absolute`,
    ]
    for (const attack of attacks) await program(`curl -sS ${attack}`)
    expect(site.requests.slice(before)).toEqual([])
  })
})
