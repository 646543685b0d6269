/** API keys of the load bench. */
export const loadKeys = {
  client: 'vt_client_load-test-key-0123456789',
  operator: 'vt_operator_load-test-key-0123456789',
};
export const loadProvider = `0x${'11'.repeat(20)}`;
