import type { Api } from 'grammy'
import type { Secret } from '@flotilla/egress/credentials'
import { ChannelFailure } from '../../adapter.ts'
import type { ChannelAdapter } from '../../adapter.ts'
import { failureOfDownload } from '../call-failure.ts'
import { tooLarge } from '../platform-http.ts'
import type { PlatformHttp } from '../platform-http.ts'
import type { GrammySignal } from './poll-updates.ts'
import { telegramFailure } from './telegram-failure.ts'

/** The form of Telegram's file paths, without `..`. */
const filePath = /^(?!.*\.\.)[A-Za-z0-9_][A-Za-z0-9_./-]{0,255}$/

export interface FetchFileDeps {
  readonly api: Api
  readonly http: PlatformHttp
  /** The base URL; the token and the file path are appended to it. */
  readonly root: string
  readonly token: Secret
}

/** Creates the function that downloads a file up to the requested size. */
export function createFetchFile({
  api,
  http,
  root,
  token,
}: FetchFileDeps): NonNullable<ChannelAdapter['download']> {
  return async (fileId, maxBytes, signal) => {
    signal.throwIfAborted()
    const found = await api.getFile(fileId, signal as GrammySignal).catch((error: unknown) => {
      signal.throwIfAborted()
      throw telegramFailure(error)
    })
    const { file_path: path, file_size: size } = found
    if (size !== undefined && size > maxBytes) throw tooLarge(maxBytes)
    if (path === undefined || !filePath.test(path))
      throw new ChannelFailure('gone', 'the file no longer exists at Telegram')
    const url = new URL(`${root}${token.reveal()}/${path}`)
    const { status, headers, body } = await http.call(
      { method: 'GET', url, headers: {}, body: null, maxBytes },
      signal,
    )
    if (status !== 200) throw failureOfDownload('Telegram', status, headers['retry-after'])
    return body
  }
}
