/** The interval between two checks for due jobs, and the shortest interval of a job. */
export const cronTickMs = 5000 // limits:cron-tick
