import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { eventually } from '../support/eventually.ts'
import { httpCall } from '../support/http-call.ts'
import { patient } from '../support/patience.ts'

const run = promisify(execFile)
const installed = '/usr/sbin/nginx'
const stopMaxMs = patient(10_000)

/**
 * Returns the distribution's nginx, unpacked into a folder if it is not installed; nothing is set up or started.
 */
export async function fetchNginx(folder: string): Promise<string> {
  if (existsSync(installed)) return installed
  const fetch = () => run('apt-get', ['download', 'nginx'], { cwd: folder })
  await fetch().catch(async () => {
    await run('apt-get', ['update'])
    await fetch()
  })
  const archive = (await readdir(folder)).find((name) => name.endsWith('.deb')) ?? ''
  await run('dpkg-deb', ['--extract', join(folder, archive), folder])
  return join(folder, 'usr', 'sbin', 'nginx')
}

export interface Nginx {
  readonly url: string
  stop(): Promise<void>
}

/**
 * Starts a reverse proxy on loopback in front of `target`, with these lines in its one location and its workers as
 * this user.
 */
export async function startNginx(options: {
  readonly program: string
  readonly port: number
  readonly target: string
  readonly location: readonly string[]
  readonly user: string
}): Promise<Nginx> {
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-nginx-'))
  await chmod(folder, 0o755)
  const { port, target, location, user } = options
  const url = `http://127.0.0.1:${port}`
  await writeFile(
    join(folder, 'nginx.conf'),
    `user ${user}; daemon off; pid ${folder}/pid; error_log ${folder}/error.log; events {}
    http {
      access_log off; client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy;
      fastcgi_temp_path ${folder}/f; uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;
      server { listen 127.0.0.1:${port}; location / { proxy_pass ${target}; ${location.join(' ')} } }
    }`,
  )
  const child = spawn(options.program, ['-p', folder, '-c', join(folder, 'nginx.conf')], {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const ended = once(child, 'exit')
  await eventually('nginx answers', async () => {
    if (child.exitCode !== null) throw new Error(`nginx ended with ${child.exitCode}`)
    return httpCall({ method: 'GET', url: `${url}/healthz` }).catch(() => null)
  })
  return {
    url,
    async stop() {
      child.kill('SIGTERM')
      await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, stopMaxMs).unref())])
      await rm(folder, { recursive: true, force: true })
    },
  }
}
