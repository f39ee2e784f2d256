import { GrammyError, HttpError } from 'grammy'
import { ChannelFailure } from '../../adapter.ts'
import { failureOfCall } from '../call-failure.ts'

/** The longest wait that is accepted from Telegram, in milliseconds. */
const retryAfterMaxMs = 60 * 60 * 1000

const places =
  /chat not found|user is deactivated|group chat was (?:deleted|upgraded)|not enough rights|topic_(?:closed|deleted)|thread not found|chat_write_forbidden|have no rights/i
const tooLong = /too (?:long|big|large)|MEDIA_CAPTION_TOO_LONG|PHOTO_INVALID_DIMENSIONS/i

/** Returns the failure for an error of a call. Pure. */
export function telegramFailure(error: unknown): ChannelFailure {
  if (error instanceof ChannelFailure) return error
  if (error instanceof HttpError) return failureOfCall(error.error, 'Telegram')
  if (!(error instanceof GrammyError))
    return new ChannelFailure('unsure', 'the call to Telegram ended without an answer')
  const { error_code: code, description, parameters } = error
  const detail = `Telegram says: ${description.slice(0, 200)}`
  if (code === 429) {
    const seconds = parameters.retry_after ?? 1
    return new ChannelFailure('rate-limited', detail, Math.min(retryAfterMaxMs, seconds * 1000))
  }
  if (code === 403 || parameters.migrate_to_chat_id !== undefined) return new ChannelFailure('gone', detail)
  if (code === 400 && places.test(description)) return new ChannelFailure('gone', detail)
  if (code === 413 || (code === 400 && tooLong.test(description)))
    return new ChannelFailure('too-large', detail)
  return new ChannelFailure(code >= 500 ? 'unsure' : 'refused', detail)
}

/** Returns Telegram's error code; 0 if there was no response. Pure. */
export function telegramCode(error: unknown): number {
  return error instanceof GrammyError ? error.error_code : 0
}
