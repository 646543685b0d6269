/** Entry of the process that reads Parquet: says that it is there, then one answer for each request. It ends with the one that asks. */
import { endWithParent } from './end-with-parent.js';
import { readParquet, type GroupRequest, type MetadataRequest } from './read.js';

endWithParent();
process.on('disconnect', () => process.exit());
process.on('message', (request: MetadataRequest | GroupRequest) => {
  readParquet(request).then(
    (value) => process.send!({ value }),
    (error: unknown) => process.send!({ error: error instanceof Error ? error.message : String(error) }),
  );
});
process.send!({ value: 'ready' });
