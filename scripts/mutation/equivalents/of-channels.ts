import { inFile } from './equivalent.ts'
import type { Equivalent } from './equivalent.ts'

export const equivalentsOfChannels: readonly Equivalent[] = [
  ...inFile('packages/inbound/src/channels/delivery/notice-text.ts', [
    {
      line: 'quiet.from < quiet.to ? time >= quiet.from && time < quiet.to : time >= quiet.from || time < quiet.to',
      becomes:
        'quiet.from <= quiet.to ? time >= quiet.from && time < quiet.to : time >= quiet.from || time < quiet.to',
      reason: 'a line above already excludes hours that begin and end at the same time',
    },
    {
      line: 'if (end.getTime() <= now) end.setDate(end.getDate() + 1)',
      becomes: 'if (end.getTime() < now) end.setDate(end.getDate() + 1)',
      reason: 'the minute in which the hours end is no quiet one, so that no end is this very moment',
    },
  ]),
  ...inFile('packages/inbound/src/channels/messages/plain-message.ts', [
    {
      line: "const placeIds = [place.conversationId, place.threadId ?? '']",
      becomes: 'const placeIds = [place.conversationId, place.threadId ?? "Stryker was here!"]',
      reason: 'only its length is asked for, and both are short enough',
    },
  ]),
  ...inFile('packages/inbound/src/channels/pairing/pairing-codes.ts', [
    {
      line: String.raw`const found = /^(?:\/(?:start|pair)(?:@\w{1,64})?\s+)?([A-Za-z0-9]+)$/.exec(text.trim())?.[1]?.toUpperCase()`,
      becomes: String.raw`const found = /^(?:\/(?:start|pair)(?:@\w{1,64})?\s+)?([A-Za-z0-9]+)$/.exec(text.trim())?.[1].toUpperCase()`,
      reason: 'where the pattern matches at all, its one group has',
    },
  ]),
]
