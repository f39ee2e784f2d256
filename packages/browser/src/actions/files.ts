import { readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { browserLimits } from '@flotilla/protocol/browser-service-api'
import { imageTypeOf } from '@flotilla/protocol/image-type'
import type { Download, ElementHandle } from 'playwright-core'
import type { PageElement } from '../tabs/page-element.ts'
import { ActionProblem } from './action-problem.ts'
import type { ActionScene, Acts } from './action.ts'

const pollMs = 100
const nameMaxChars = 200

/** Actions that upload files to a page and download files from it. */
export const files: Acts<'upload_file' | 'download'> = {
  async upload_file(scene, { ref, files: given }) {
    const payloads = given.map(({ name, content_base64: content }) => ({
      name: plainName(name),
      mimeType: 'application/octet-stream',
      buffer: Buffer.from(content, 'base64'),
    }))
    const bytes = payloads.reduce((sum, { buffer }) => sum + buffer.length, 0)
    if (bytes > browserLimits.uploadMaxBytes)
      throw new ActionProblem(
        'too-large',
        `All files together may have ${browserLimits.uploadMaxBytes} bytes.`,
      )
    const element = await scene.find(ref)
    const timeout = scene.left()
    const isField = await element.evaluate((node) => node.tagName === 'INPUT' && node.type === 'file')
    if (isField) await element.setInputFiles(payloads, { timeout })
    else await chooseFiles(scene, element, payloads)
    return {}
  },

  async download(scene, { ref }) {
    const element = await scene.find(ref)
    const found = Promise.withResolvers<Download>()
    const giveBack = scene.live.tabs.takeDownloads(found.resolve)
    try {
      await element.click({ timeout: scene.left() })
      const download = await within(scene, found.promise)
      return await fetchFile(scene, download)
    } finally {
      giveBack()
    }
  },
}

/** Clicks a button that opens the system's file dialog, and passes the files to the field behind the dialog. */
async function chooseFiles(
  { page, left }: ActionScene,
  element: ElementHandle<PageElement>,
  payloads: { name: string; mimeType: string; buffer: Buffer }[],
): Promise<void> {
  const chooser = page.waitForEvent('filechooser', { timeout: left() })
  // The promise is awaited below; this only prevents an unhandled rejection before that.
  chooser.catch(() => undefined)
  await element.click({ timeout: left() })
  await (await chooser).setFiles(payloads)
}

const beginMaxMs = 15_000

async function within({ clock, left }: ActionScene, found: Promise<Download>): Promise<Download> {
  const patience = new AbortController()
  const late = clock.sleep(Math.min(beginMaxMs, left()), patience.signal).then(
    () => {
      throw new ActionProblem(
        'no-download',
        'No download started. Check whether the element links to a file.',
      )
    },
    () => found,
  )
  try {
    return await Promise.race([found, late])
  } finally {
    patience.abort()
  }
}

/** Checks the size while the file downloads, and cancels a download that exceeds the limit. */
async function fetchFile({ live, clock, left }: ActionScene, download: Download) {
  const { downloads: folder } = live.launched
  let state: 'coming' | 'done' | 'failed' = 'coming'
  const path = download.path().then(
    (done) => {
      state = 'done'
      return done
    },
    () => {
      state = 'failed'
      return null
    },
  )
  try {
    while (isComing()) {
      if ((await largestOf(folder)) > browserLimits.downloadMaxBytes || left() <= 1) {
        await download.cancel()
        throw tooLarge()
      }
      await Promise.race([path, clock.sleep(pollMs)])
    }
    const file = await path
    if (file === null) throw new ActionProblem('no-download', 'The download was interrupted.')
    const { size } = await stat(file)
    if (size > browserLimits.downloadMaxBytes) throw tooLarge()
    const content = withoutSecrets(live, await readFile(file))
    return {
      name: plainName(live.secrets.scrub(download.suggestedFilename())),
      mime_type: contentTypeOf(content),
      size_bytes: content.length,
      content_base64: content.toString('base64'),
    }
  } finally {
    await download.delete().catch(() => undefined)
    for (const name of await readdir(folder).catch(() => []))
      await rm(join(folder, name), { force: true, recursive: true })
  }

  function isComing(): boolean {
    return state === 'coming'
  }
}

/** Removes typed secrets from a file, because a page may write them into it. A binary file is searched as bytes. */
function withoutSecrets({ secrets }: ActionScene['live'], content: Buffer): Buffer {
  if (!secrets.any) return content
  if (isText(content)) return Buffer.from(secrets.scrub(content.toString('utf8')))
  const spelled = [content.toString('latin1'), content.toString('utf8'), content.toString('utf16le')]
  if (spelled.every((text) => secrets.find(text).length === 0)) return content
  throw new ActionProblem(
    'secret-refused',
    'The file contains a credential that was typed into this browser, so it was not downloaded.',
  )
}

function tooLarge(): ActionProblem {
  return new ActionProblem(
    'too-large',
    `The download was stopped: it may have at most ${browserLimits.downloadMaxBytes} bytes, and must finish in time.`,
  )
}

async function largestOf(folder: string): Promise<number> {
  const names = await readdir(folder).catch(() => [])
  const sizes = await Promise.all(
    names.map((name) =>
      stat(join(folder, name)).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  )
  return Math.max(0, ...sizes)
}

/** Takes the last part of a path and removes invisible and reserved characters. Pure. */
export function plainName(name: string): string {
  const last = name.split(/[/\\]/).at(-1) ?? ''
  const plain = last.replace(/[\p{C}"<>|:*?]/gu, '').trim()
  return plain === '' || /^\.+$/.test(plain) ? 'file' : plain.slice(-nameMaxChars)
}

const beginnings: readonly (readonly [type: string, begins: string])[] = [
  ['application/pdf', '%PDF-'],
  ['application/zip', 'PK\u0003\u0004'],
  ['application/gzip', '\u001f\u008b'],
  ['application/x-executable', '\u007fELF'],
  ['application/x-executable', 'MZ'],
]

/** Detects the type from the first bytes, whatever the page claims: image, known format, text or binary. Pure. */
export function contentTypeOf(content: Buffer): string {
  const image = imageTypeOf(content)
  if (image !== null) return image
  const begin = content.subarray(0, 512).toString('latin1')
  const known = beginnings.find(([, begins]) => begin.startsWith(begins))
  if (known) return known[0]
  if (!isText(content)) return 'application/octet-stream'
  return /^\s*<(?:!doctype html|html)\b/i.test(begin) ? 'text/html' : 'text/plain'
}

function isText(content: Buffer): boolean {
  try {
    return !new TextDecoder('utf-8', { fatal: true }).decode(content).includes('\u0000')
  } catch {
    return false
  }
}
