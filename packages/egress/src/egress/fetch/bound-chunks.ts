import { Problem } from '@flotilla/protocol/problem'
import type { Dispatcher } from 'undici'
import { createChunkBound } from '@flotilla/identity/http'

/** Ends an answer that a server sends in tiny chunks with the problem `upstream-failed`. */
export const boundChunks: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) => {
  const bound = createChunkBound('ofAnswer')
  return dispatch(options, {
    onRequestStart: (...given) => handler.onRequestStart?.(...given),
    onRequestUpgrade: (...given) => handler.onRequestUpgrade?.(...given),
    onResponseStart: (...given) => handler.onResponseStart?.(...given),
    onResponseData: (controller, chunk) => {
      if (bound.takes(chunk.length)) handler.onResponseData?.(controller, chunk)
      else controller.abort(answerInTinyChunks(bound.counted()))
    },
    onResponseEnd: (...given) => handler.onResponseEnd?.(...given),
    onResponseError: (...given) => handler.onResponseError?.(...given),
  })
}

export function answerInTinyChunks(counted: string): Problem {
  return new Problem('upstream-failed', { detail: `the server sends its answer in tiny chunks: ${counted}` })
}
