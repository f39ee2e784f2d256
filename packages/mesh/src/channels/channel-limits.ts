/** How much of the mesh chats may take. The rows of all tables of the module are bounded here too. */
export const channelLimits = {
  /** Of one person at one agent, runs that have not ended; fewer where many people wait for that agent. */
  openRunsPerPersonMax: 5,
  /** Of all people at one agent: what is left of the lane is for those at a terminal. */
  openRunsPerAgentMax: 60,
  /** Of all people at all agents. */
  openRunsMax: 300,
  /** Agents that one message may be given to. */
  broadcastMax: 20,
  /** As `wireLimits.chatMessageMaxChars`, of what a command is told. */
  nameMaxChars: 64,
  messageIdMaxChars: 200,
  placeIdMaxChars: 200,
  /** For so long a message that comes again is known, days: longer than any platform sends again. */
  messagesKeptDays: 14,
  messagesKeptMax: 200_000,
  /** How long one who was refused is not told again, days. */
  strangersKeptDays: 30,
  /** Of one channel; once there are so many, whoever was told first is forgotten. */
  strangersMax: 10_000,
  /** Strangers who are told so in a minute, of one channel; half of it is for those who were turned away before. */
  strangersToldPerMinute: 20,
  /** Strangers who were turned away untold and are known again, of all channels. */
  strangersTurnedAwayMax: 10_000,
  talksKeptDays: 90,
  runsKeptDays: 14,
  lettersKeptDays: 14,
  /** Of one kind, to one owner of one channel: an agent that says much fills neither the chat nor the queue of answers. */
  noticesPerHour: 30,
  /** Waiting to be sent, of one channel; replies beyond it are not written, outcomes are. */
  openLettersMax: 5000,
  /** After so long a letter that could not be sent is given up, hours. */
  letterHoursMax: 24,
  /** Of one file that somebody sends, bytes; Telegram gives bots no larger ones. */
  fileInMaxBytes: 20 * 1024 * 1024,
  /** Messages of a channel whose files are fetched at once, each one file after the other: so many files are held. */
  filesAtOnce: 4,
  /** Messages whose files are not all fetched: of one person, and of one channel. */
  openFilesPerPersonMax: 10,
  openFilesMax: 300,
  /** Of an album, whose files come in messages of their own. */
  albumFilesMax: 10,
  /** After the last of an album so long is waited for another, and after the first so long at most, milliseconds. */
  albumQuietMs: 1500,
  albumMaxMs: 10_000,
  /** Albums that were answered in words, known so that the rest of them is not answered too. */
  answeredAlbumsMax: 1000,
  /** After so many tries a file is left out, and whoever sent it is told. */
  fileTriesMax: 5,
  /** For one try to fetch a file, milliseconds: a line that drips holds up all that the person says. */
  fileTryMaxMs: 2 * 60_000,
  /** Where a platform asks to wait longer with a file, it is left out, milliseconds. */
  fileWaitMaxMs: 5 * 60_000,
  /** Files that an agent made in one run and that are sent beside its answer; the others are named. */
  filesPerAnswerMax: 5,
  /** Of one run, those that are kept in mind at all. */
  filesPerRunMax: 50,
  /** An answer of more messages than these is sent as a file too. */
  answerMessagesMax: 4,
  /** A message over which the mesh stumbles is passed over after so many tries. */
  takeTriesMax: 6,
  /** Messages whose tries are counted at once. */
  triedMessagesMax: 1000,
  /** Conversations of a channel that are written to at once. */
  conversationsAtOnce: 8,
} as const

/** Waits between attempts of one letter, milliseconds. */
export const sendBackOffMs = { first: 1000, max: 5 * 60_000 } as const

/** Waits between attempts to fetch or keep a file, milliseconds. */
export const fileBackOffMs = { first: 1000, max: 60_000 } as const

/** Waits between attempts to connect, milliseconds. */
export const connectBackOffMs = { first: 1000, max: 60_000 } as const

/** The wait before attempt `attempts` + 1. Pure. */
export function backOffMs({ first, max }: { first: number; max: number }, attempts: number): number {
  return Math.min(max, first * 2 ** Math.min(attempts, 20))
}
