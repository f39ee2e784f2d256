import { ChannelFailure } from '../../adapter.ts'
import type { ChannelAdapter, ReceivedAttachment } from '../../adapter.ts'
import { downloadBounded } from '../bounded-download.ts'
import type { Fetch } from '../bounded-download.ts'
import type { DiscordAttachment } from './discord-wire.ts'

const hosts = new Set(['cdn.discordapp.com', 'media.discordapp.net'])

/** Returns a received attachment. Discord signs its URL, which expires after about a day. Pure. */
export function receivedAttachment(attachment: DiscordAttachment): ReceivedAttachment {
  const { filename, content_type: mediaType, size, url } = attachment
  return {
    kind: kindOf(attachment),
    name: filename === '' ? attachment.id : filename,
    mediaType: mediaType === '' ? 'application/octet-stream' : mediaType,
    sizeBytes: size ?? null,
    reference: url,
  }
}

export function createFetchFile({
  api,
  fetch,
}: {
  readonly api: string
  readonly fetch: Fetch
}): NonNullable<ChannelAdapter['download']> {
  return async (url, maxBytes, signal) => {
    if (!isDiscords(url, api)) throw new ChannelFailure('refused', 'the file is not stored at Discord')
    return downloadBounded({ fetch, url, headers: {}, platform: 'Discord', maxBytes, signal })
  }
}

function kindOf({
  content_type: mediaType,
  duration_secs: seconds,
}: DiscordAttachment): ReceivedAttachment['kind'] {
  if (mediaType.startsWith('audio/') && typeof seconds === 'number') return 'voice'
  return mediaType.startsWith('image/') ? 'picture' : 'document'
}

function isDiscords(address: string, api: string): boolean {
  if (!URL.canParse(address)) return false
  const url = new URL(address)
  return url.origin === new URL(api).origin || (url.protocol === 'https:' && hosts.has(url.host))
}
