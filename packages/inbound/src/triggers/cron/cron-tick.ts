/** The interval between two checks for due cron jobs, and the shortest interval of a job, in milliseconds. */
export const cronTickMs = 5000 // limits:cron-tick
