/** Limits for chats. The limits also bound the rows of all tables of the module. */
export const channelLimits = {
  /** The maximum number of unfinished runs of one person at one agent; lower if many people use that agent. */
  openRunsPerPersonMax: 5,
  /** The maximum number of unfinished runs of people on channels at one agent. People at a terminal use the rest. */
  openRunsPerAgentMax: 60,
  /** The maximum number of unfinished runs of people on channels at all agents. */
  openRunsMax: 300,
  /** Agents that one `/broadcast` may address. */
  broadcastMax: 20,
  /** The maximum length of an agent's name in a command. */
  nameMaxChars: 64,
  messageIdMaxChars: 200,
  placeIdMaxChars: 200,
  /** How long ids of messages are kept to detect repeats, in days; longer than any platform redelivers. */
  messagesKeptDays: 14,
  messagesKeptMax: 200_000,
  /** How long a stranger who was refused gets no second reply, in days. */
  strangersKeptDays: 30,
  /** How many refused strangers are remembered for each channel. Above this number the oldest entry is deleted. */
  strangersMax: 10_000,
  /**
   * Replies to strangers per minute and channel. Half of these replies are reserved for strangers
   * who were turned away without a reply before.
   */
  strangersAnsweredPerMinute: 20,
  /** How many strangers of all channels are remembered who were turned away without a reply. */
  strangersTurnedAwayMax: 10_000,
  talksKeptDays: 90,
  runsKeptDays: 14,
  lettersKeptDays: 14,
  /**
   * Notices per hour of one kind to one owner on one channel, so that one agent cannot flood the
   * chat or delay answers. The last quarter is for agents that caused no notice in that hour.
   */
  noticesPerHour: 30,
  /**
   * How many letters wait on one channel: in total, and for one person, for all strangers or for
   * notices. Above this limit, replies are dropped; outcomes of runs are still written.
   */
  openLetters: { max: 5000, perAgentMax: 1000, floor: 10 },
  /** The maximum duration for which sending a letter is retried, in hours. Then the letter fails. */
  letterHoursMax: 24,
  /** The maximum size of a received file in bytes. Telegram sends bots no larger files. */
  fileInMaxBytes: 20 * 1024 * 1024,
  /** For how many messages of one channel files are fetched in parallel. One message's files are fetched in turn. */
  filesAtOnce: 4,
  /** The maximum number of messages whose files are still to be fetched: of one person, and of one channel. */
  openFilesPerPersonMax: 10,
  openFilesMax: 300,
  /** The maximum number of files of one album. Each file comes in its own message. */
  albumFilesMax: 10,
  /** How long an album waits for its next file, and the maximum duration of the whole album, in milliseconds. */
  albumQuietMs: 1500,
  albumMaxMs: 10_000,
  /** How many albums that got a text reply are remembered, so that their other files get no second reply. */
  answeredAlbumsMax: 1000,
  /** After this many attempts to fetch a file, it is left out, and the sender is notified. */
  fileTriesMax: 5,
  /**
   * The time limit of one attempt to fetch a file, in milliseconds. A slow download delays all messages of its
   * sender.
   */
  fileTryMaxMs: 2 * 60_000,
  /** The longest wait that a platform may ask for, in milliseconds. If it asks for more, the file is omitted. */
  fileWaitMaxMs: 5 * 60_000,
  /** The maximum number of files of a run that are sent with its answer. Further files are only counted. */
  filesPerAnswerMax: 5,
  /** The maximum number of files of a run that are recorded. */
  filesPerRunMax: 50,
  /** The maximum number of messages of an answer. A longer answer is also sent as a file. */
  answerMessagesMax: 4,
  /** How often a message that causes an internal error is attempted at most. Then the message is skipped. */
  takeTriesMax: 6,
  /** The maximum number of messages whose attempts are counted. */
  triedMessagesMax: 1000,
  /** How many conversations of one channel are sent to in parallel. */
  conversationsAtOnce: 8,
} as const

/** Backoff between attempts to send a letter, in milliseconds. */
export const sendBackoff = { firstMs: 1000, maxMs: 5 * 60_000 } as const

/** Backoff between attempts to fetch or store a file, in milliseconds. */
export const fileBackoff = { firstMs: 1000, maxMs: 60_000 } as const

/** Backoff between attempts to connect, in milliseconds. */
export const connectBackoff = { firstMs: 1000, maxMs: 60_000 } as const
