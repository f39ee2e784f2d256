import { randomBytes } from 'node:crypto'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import * as z from 'zod'
import {
  browserActionData,
  browserActionReplySchema,
  browserLimits,
  browserPictureSchema,
  browserProofSubject,
  browserServiceEndpoints as endpoints,
  browserServicePort,
  browserStatusSchema,
  browserTokenFile,
} from '../../packages/protocol/src/browser-service-api.ts'
import type {
  BrowserAction,
  BrowserActionData,
  BrowserActionParams,
  BrowserProblem,
  BrowserStatus,
} from '../../packages/protocol/src/browser-service-api.ts'
import { makeMeshKey } from '../../packages/agent/src/testing/mesh-proof.ts'
import {
  browserContainerOptions,
  browserVolumeName,
} from '../../packages/fleet/src/sandbox/docker/browser-container.ts'
import { patient } from '../support/patience.ts'
import { engineDialect, limitsTmpfsFiles } from '../../packages/fleet/src/sandbox/engine/engine-dialect.ts'
import type { Engine } from '../../packages/fleet/src/sandbox/engine/connect-engine.ts'
import { ensureBrowserImage } from '../../packages/fleet/src/sandbox/image/browser-image.ts'
import { systemClock } from '../../packages/foundation/src/platform/system-clock.ts'
import { eventually } from '../support/eventually.ts'
import { startTestProxy } from './browser-pages.ts'
import type { TestProxy } from './browser-pages.ts'
import { imageCaches } from './image-caches.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
export const agentId = 'surfer'

export interface TestBrowser {
  readonly proxy: TestProxy
  /** The token with which the browser authenticates at the proxy. */
  readonly proxyToken: string
  readonly image: string
  readonly network: { readonly name: string; readonly gateway: string; readonly gateway6: string }
  readonly address: string
  readonly briefingDirectory: string
  readonly proof: (subject?: string, lifeSeconds?: number) => string
  /** Carries out the action; rejects with its problem. */
  readonly act: <Name extends BrowserAction>(
    name: Name,
    params: BrowserActionParams[Name],
    deadlineMs?: number,
  ) => Promise<BrowserActionData[Name]>
  readonly refused: (name: string, params: object, deadlineMs?: number) => Promise<BrowserProblem>
  readonly status: () => Promise<BrowserStatus>
  /** The picture for people who watch, base64. */
  readonly picture: () => Promise<string | null>
  readonly post: (path: string, body?: object) => Promise<unknown>
  /** Runs a shell command inside, as UID 1000 unless another user is given. */
  readonly run: (command: string, user?: string) => Promise<{ readonly code: number; readonly text: string }>
  /** Runs another container of the image to its end. */
  readonly once: (changes: {
    readonly command?: readonly string[]
    readonly capabilities?: readonly string[]
  }) => Promise<{ readonly code: number; readonly text: string }>
  readonly inspect: () => Promise<{ HostConfig: Record<string, unknown> }>
  /** Removes the container and starts another one on the same volume. */
  readonly restart: () => Promise<void>
  readonly close: () => Promise<void>
}

/**
 * Starts the real image in a container as the mesh creates it, on an internal network of its own with IPv4 and
 * IPv6.
 */
export async function openTestBrowser(engine: Engine): Promise<TestBrowser> {
  const { docker } = engine
  const directory = await mkdtemp(join(tmpdir(), 'flotilla-browser-'))
  const mark = randomBytes(4).toString('hex')
  const homeId = `browser-test-${mark}`
  const recipeDirectory = join(root, 'images', 'browser')
  const { id: image } = await ensureBrowserImage({
    engine,
    recipeDirectory,
    packageDirectory: root,
    browserEntry: join(root, 'packages', 'browser', 'src', 'main.ts'),
    homeId,
    volumesFolder: join(directory, 'volumes'),
    cacheDirectory: imageCaches,
    noInstall: true,
    uid: process.getuid?.() ?? 0,
    clock: systemClock,
    progress: (step) => process.stderr.write(`${step}\n`),
  })
  const networkName = `flotilla-test-${mark}`
  const gateway6 = `fd${mark.slice(0, 2)}:${mark.slice(2, 6)}::1`
  // Outside the range from which fleets take their networks (10.64.0.0/10).
  const network = await docker.createNetwork({
    Name: networkName,
    Internal: true,
    EnableIPv6: true,
    IPAM: {
      Driver: 'default',
      Config: [
        {
          Subnet: `10.${200 + (Number.parseInt(mark.slice(0, 2), 16) % 50)}.${Number.parseInt(mark.slice(2, 4), 16)}.0/24`,
        },
        { Subnet: gateway6.replace(/1$/, '/64'), Gateway: gateway6 },
      ],
    },
    Options: { 'com.docker.network.bridge.enable_icc': 'false' },
  })
  const made = networkSchema.parse(await network.inspect())
  const gateway =
    made.IPAM.Config.map(({ Gateway }) => Gateway ?? '').find((one) => one.includes('.')) ??
    made.IPAM.Config.map(({ Subnet }) => Subnet)
      .find((one) => one.includes('.'))
      ?.replace(/0\/\d+$/, '1') ??
    ''
  const token = randomBytes(24).toString('hex')
  const proxy = await startTestProxy({ host: gateway, token })
  const key = makeMeshKey()
  const dialect = await engineDialect(engine, recipeDirectory)
  const ground = {
    homeId,
    image,
    network: { name: networkName, gateway },
    seccomp: dialect.seccomp,
    ulimits: dialect.ulimits,
    // IPv6 is enabled, so that the tests can attack its isolation.
    sysctls: { 'net.ipv6.conf.all.disable_ipv6': '0' },
    logOptions: dialect.logOptions,
    limitsTmpfsFiles: limitsTmpfsFiles(engine),
  }
  const briefingDirectory = join(directory, 'briefing')
  await mkdir(briefingDirectory, { mode: 0o755 })
  await chmod(directory, 0o755)
  const options = browserContainerOptions(ground, {
    agentId,
    meshPublicKey: key.publicKey,
    proxyPort: proxy.port,
    briefingDirectory,
  })
  const proof: TestBrowser['proof'] = (subject = browserProofSubject(agentId), life = 60) =>
    key.proofFor(subject, life)
  const place = { container: docker.getContainer(''), address: '' }

  const call = async (path: string, init: RequestInit = {}): Promise<unknown> => {
    const answer = await fetch(`http://${place.address}:${browserServicePort}${path}`, {
      ...init,
      headers: { authorization: proof(), 'content-type': 'application/json' },
    }).catch(async (error: unknown) => {
      const output = await place.container.logs({ stdout: true, stderr: true, tail: 5 }).catch(() => '')
      throw new Error(`the service is gone: ${String(output)}`, { cause: error })
    })
    if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`)
    return answer.json()
  }
  const post: TestBrowser['post'] = (path, body = {}) =>
    call(path, { method: 'POST', body: JSON.stringify(body) })
  const actionMs = Math.min(patient(60_000), browserLimits.deadlineMaxMs)
  const attempt = async (name: string, params: object, deadlineMs = actionMs) =>
    browserActionReplySchema.parse(
      await post(endpoints.act.path.replace('{action}', name), { params, deadline_ms: deadlineMs }),
    )

  async function start(): Promise<void> {
    const tokenPath = join(briefingDirectory, browserTokenFile)
    await writeFile(tokenPath, token, { mode: 0o644 })
    place.container = await docker.createContainer(options)
    await place.container.start()
    const inspected = containerSchema.parse(await place.container.inspect())
    place.address = inspected.NetworkSettings.Networks[networkName]?.IPAddress ?? ''
    await eventually('the service answers', () => call(endpoints.status.path).catch(() => null))
    await rm(tokenPath)
  }
  const close = async (): Promise<void> => {
    await place.container.remove({ force: true }).catch(() => undefined)
    await docker
      .getVolume(browserVolumeName(homeId, agentId))
      .remove()
      .catch(() => undefined)
    await proxy.close()
    await network.remove()
    await rm(directory, { recursive: true, force: true })
  }
  await start().catch(async (error: unknown) => {
    await close()
    throw error
  })

  return {
    proxy,
    proxyToken: token,
    image,
    network: { name: networkName, gateway, gateway6 },
    get address() {
      return place.address
    },
    briefingDirectory,
    proof,
    async act(name, params, deadlineMs) {
      const reply = await attempt(name, params, deadlineMs)
      if (!reply.ok) {
        // Adds the log of the service, since the problem contains only what an agent may read.
        const output = await place.container.logs({ stdout: true, stderr: true, tail: 3 }).catch(() => '')
        throw new Error(`${name}: ${reply.problem.code}: ${reply.problem.message}\n${String(output)}`)
      }
      const data: unknown = browserActionData[name].parse(reply.data)
      return data as BrowserActionData[typeof name]
    },
    async refused(name, params, deadlineMs) {
      const reply = await attempt(name, params, deadlineMs)
      if (reply.ok) throw new Error(`${name} was done`)
      return reply.problem
    },
    status: async () => browserStatusSchema.parse(await call(endpoints.status.path)),
    picture: async () => browserPictureSchema.parse(await call(endpoints.picture.path)).image_base64,
    post,
    async run(command, user = '1000:1000') {
      const exec = await place.container.exec({
        Cmd: ['sh', '-c', command],
        User: user,
        AttachStdout: true,
        AttachStderr: true,
        Tty: true,
      })
      const stream = await exec.start({ Tty: true })
      const text = await textOf(stream)
      return { code: (await exec.inspect()).ExitCode ?? -1, text }
    },
    async once({ command, capabilities }) {
      const HostConfig = {
        ...options.HostConfig,
        ...(capabilities === undefined ? {} : { CapAdd: [...capabilities] }),
      }
      const { name: _, ...rest } = options
      const container = await docker.createContainer({
        ...rest,
        HostConfig,
        ...(command === undefined ? {} : { Cmd: [...command] }),
        Tty: true,
      })
      try {
        const stream = await container.attach({ stream: true, stdout: true, stderr: true })
        await container.start()
        const text = await textOf(stream)
        return { code: z.object({ StatusCode: z.number() }).parse(await container.wait()).StatusCode, text }
      } finally {
        await container.remove({ force: true })
      }
    },
    inspect: async () =>
      z.looseObject({ HostConfig: z.record(z.string(), z.unknown()) }).parse(await place.container.inspect()),
    async restart() {
      await place.container.stop({ t: 10 })
      await place.container.remove({ force: true })
      await start()
    },
    close,
  }
}

const networkSchema = z.looseObject({
  IPAM: z.looseObject({
    Config: z.array(z.looseObject({ Subnet: z.string(), Gateway: z.string().optional() })),
  }),
})
const containerSchema = z.looseObject({
  NetworkSettings: z.looseObject({
    Networks: z.record(z.string(), z.looseObject({ IPAddress: z.string() })),
  }),
})

async function textOf(stream: NodeJS.ReadableStream): Promise<string> {
  let text = ''
  for await (const chunk of stream) text += String(chunk)
  return text.replaceAll('\r\n', '\n').trim()
}
