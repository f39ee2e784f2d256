import { readFile } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { tarDirectory, tarFile } from '../tar-archive.ts'
import { ensureImage, ofRoot, tarFileFrom } from './ensure-image.ts'
import type { ImageOptions, MadeImage, NamedFile } from './ensure-image.ts'
import { findPinnedNode, playwrightArchive, playwrightVersion, strippedNode } from './node-parts.ts'
import { browserImageName } from './prune-images.ts'
import { bundleSettings } from './split-agent.ts'

/** Files of `images/browser` that are sent to the build unchanged. */
const recipeFiles = ['Dockerfile', 'packages.txt', 'enter.sh'] as const

/** Name of the browser service's file in the npm package; the image starts that file. */
const packedEntry = 'browser.cjs'

export interface BrowserImageOptions extends ImageOptions {
  /** The entry file of the browser service: `packages/browser/src/main.ts`, or the packed `browser.cjs`. */
  readonly browserEntry: string
}

/**
 * Builds the image of agents' browsers: 1.1 GB and minutes the first time, so it is built only when an agent may
 * use a browser. Rejects with `SandboxError`.
 */
export async function ensureBrowserImage(options: BrowserImageOptions): Promise<MadeImage> {
  const node = findPinnedNode(options.packageDirectory, options.engine.architecture)
  const program = await browserProgram(options.browserEntry)
  const policies = await readFile(`${options.recipeDirectory}/policies.json`)
  // Recorded under another id than agent images, so that the last two images of each kind are kept for a home.
  const own = { ...options, homeId: `${options.homeId} browser` }
  return ensureImage(own, {
    name: browserImageName,
    label: 'the browser image',
    recipeFiles,
    parts: [
      ['node', `${node.version}-${options.engine.architecture}`],
      ['playwright', playwrightVersion],
      ['policies', policies],
      ['program', program],
    ],
    prepare: async (authorities) => {
      const [nodePath, playwrightPath] = await Promise.all([
        strippedNode(node, options),
        playwrightArchive(options),
      ])
      return async () => [
        // Mode 711: a user that cannot read a program's file cannot inspect its process either; see the Dockerfile.
        await tarFileFrom('node', nodePath, 0o711),
        await tarFileFrom('playwright.tgz', playwrightPath, 0o644),
        tarDirectory('policies', { uid: 0, mode: 0o755 }),
        tarFile('policies/walls.json', policies, ofRoot),
        tarFile('policies/authorities.json', authoritiesPolicy(authorities), ofRoot),
        tarFile(packedEntry, program, ofRoot),
      ]
    },
  })
}

/** Bundles the browser service into one file; only Playwright stays outside, as a package of the image. */
export async function browserProgram(entry: string): Promise<Buffer> {
  if (basename(entry) === packedEntry) return readFile(entry)
  const { build } = await import('esbuild')
  const { outputFiles } = await build({
    ...bundleSettings,
    conditions: [...bundleSettings.conditions],
    // Module names in the bundle are relative to this folder, so the bundle does not depend on where the sources are.
    absWorkingDir: dirname(entry),
    entryPoints: [entry],
    external: ['playwright-core', 'bufferutil', 'utf-8-validate'],
    write: false,
  })
  return Buffer.from(outputFiles?.[0]?.contents ?? [])
}

/** Builds a policy with the owner's additional authorities, because Chromium ignores those of the system. Pure. */
export function authoritiesPolicy(authorities: readonly NamedFile[]): Buffer {
  const certificates = authorities.flatMap(({ content }) =>
    [
      ...content.toString('latin1').matchAll(/-----BEGIN CERTIFICATE-----([^-]+)-----END CERTIFICATE-----/g),
    ].map(([, body = '']) => body.replace(/\s+/g, '')),
  )
  return Buffer.from(JSON.stringify({ CACertificates: certificates }))
}
