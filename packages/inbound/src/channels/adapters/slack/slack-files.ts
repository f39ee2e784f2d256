import type { Secret } from '@flotilla/egress/credentials'
import { ChannelFailure } from '../../adapter.ts'
import type { ChannelAdapter, ReceivedAttachment } from '../../adapter.ts'
import { downloadBounded } from '../bounded-download.ts'
import type { Fetch } from '../bounded-download.ts'
import type { SlackFile } from './slack-wire.ts'

interface FileAccess {
  readonly botToken: Secret
  readonly apiUrl: string
  readonly fetch: Fetch
}

/** Returns a received file, with its URL as the reference. Pure. */
export function receivedFile(file: SlackFile): ReceivedAttachment {
  return {
    kind: kindOf(file),
    name: file.name === '' ? file.id : file.name,
    mediaType: file.mimetype === '' ? 'application/octet-stream' : file.mimetype,
    sizeBytes: file.size ?? null,
    reference: file.url_private_download || file.url_private,
  }
}

/** Downloads files from Slack with the bot's token. */
export function createFetchFile({
  botToken,
  apiUrl,
  fetch,
}: FileAccess): NonNullable<ChannelAdapter['download']> {
  return async (url, maxBytes, signal) => {
    if (!isSlacks(url, apiUrl)) throw new ChannelFailure('refused', 'the file is not stored at Slack')
    const headers = { authorization: `Bearer ${botToken.reveal()}` }
    return downloadBounded({ fetch, url, headers, platform: 'Slack', maxBytes, signal })
  }
}

function kindOf({ mimetype, subtype }: SlackFile): ReceivedAttachment['kind'] {
  if (subtype === 'slack_audio') return 'voice'
  return mimetype.startsWith('image/') ? 'picture' : 'document'
}

/** True if the token may be sent to this address: to Slack only, because the user who shared a file may choose it. */
function isSlacks(address: string, apiUrl: string): boolean {
  if (!URL.canParse(address)) return false
  const url = new URL(address)
  if (url.origin === new URL(apiUrl).origin) return true
  return url.protocol === 'https:' && url.port === '' && /(?:^|\.)slack\.com$/.test(url.hostname)
}
