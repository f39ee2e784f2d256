import { imageTypeOf } from '@flotilla/protocol/image-type'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { ChannelAdapter, ConversationPlace } from '../adapter.ts'
import { ChannelFailure } from '../adapter.ts'
import type { SplitChannelText } from '../text/index.ts'
import { leadOf } from './letter-parts.ts'
import type { LetterPart } from './letter-parts.ts'
import type { Letter } from '../messages/letter-table.ts'
import type { SentFile } from '../messages/run-files.ts'

export interface SendFileDeps {
  readonly split: SplitChannelText
  /** Returns the content of an artifact; null if the artifact no longer exists. */
  readonly readArtifact: (file: SentFile) => Promise<Uint8Array | null>
}

export interface SentPart {
  readonly letter: Letter
  readonly part: Exclude<LetterPart, { readonly kind: 'words' }>
  readonly clientId: string
}

/** The maximum length of the name of a file that is sent to a chat platform, in characters. */
const nameCharsMax = 120
const answerName = 'answer.md'

/**
 * Sends one file of a letter. A file that cannot be sent is replaced by a text message. Rejects with a
 * `ChannelFailure` if a retry may succeed.
 */
export async function sendFile(
  adapter: ChannelAdapter,
  { letter, part, clientId, deps }: SentPart & { readonly deps: SendFileDeps },
  signal: AbortSignal,
): Promise<void> {
  const { place } = letter
  const bytes = part.kind === 'answer' ? Buffer.from(letter.text) : await deps.readArtifact(part.file)
  const name = part.kind === 'answer' ? answerName : shownName(part.file.name)
  const reason = await tryUpload(adapter, { place, clientId, name, bytes }, signal)
  if (reason === null) return
  const where = part.kind === 'answer' ? 'Chats' : 'Artifacts'
  const text = `The file ${name} was not sent here, ${reason}. Find it in the dashboard, under ${where}.`
  const lead = letter.agentId === null ? '' : leadOf(letter.agentId)
  const [caption = name] = (await deps.split({ channel: adapter.name, text, format: 'plain', lead })).pieces
  await adapter.send({ place, clientId, text: caption, buttons: [], replyToId: null }, signal)
}

/** Returns null once the platform has the file, otherwise the permanent reason why the platform does not get it. */
async function tryUpload(
  { upload, traits }: ChannelAdapter,
  file: {
    readonly place: ConversationPlace
    readonly clientId: string
    readonly name: string
    readonly bytes: Uint8Array | null
  },
  signal: AbortSignal,
): Promise<string | null> {
  const { bytes } = file
  if (bytes === null) return 'because it no longer exists'
  if (upload === undefined || traits.fileBytesMax === 0) return 'because this channel accepts no files'
  if (bytes.length === 0) return 'because it is empty'
  if (bytes.length > traits.fileBytesMax) return 'because it is too large'
  try {
    await upload({ ...file, bytes, mediaType: mediaTypeOf(bytes) }, signal)
    return null
  } catch (error) {
    if (!(error instanceof ChannelFailure)) throw error
    if (error.kind === 'too-large') return 'because it is too large'
    if (error.kind === 'refused') return 'because the platform rejected it'
    throw error
  }
}

const pdfBegins = Buffer.from('%PDF-')
const zipBegins = Buffer.from([0x50, 0x4b, 0x03, 0x04])
const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Returns the media type by the bytes of a file; the name is ignored. Pure. */
export function mediaTypeOf(bytes: Uint8Array): string {
  const picture = imageTypeOf(bytes)
  if (picture !== null) return picture
  if (pdfBegins.equals(bytes.subarray(0, pdfBegins.length))) return 'application/pdf'
  if (zipBegins.equals(bytes.subarray(0, zipBegins.length))) return 'application/zip'
  return isText(bytes) ? 'text/plain' : 'application/octet-stream'
}

function isText(bytes: Uint8Array): boolean {
  if (bytes.includes(0)) return false
  try {
    utf8.decode(bytes)
    return true
  } catch {
    return false
  }
}

/** Returns a safe file name for display, made from a name that an agent chose. Pure. */
function shownName(name: string): string {
  const plain = sanitizeForPrompt(name).replace(/[^\p{L}\p{N}\p{M} ()+,._-]/gu, '_')
  return plain.trim().replace(/^\.+/, '_').slice(-nameCharsMax) || 'file'
}
