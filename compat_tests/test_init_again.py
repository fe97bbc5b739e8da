def test_init_in_a_session_is_logged_if_it_is_allowed(scripts):
    scripts.write(
        "script.py",
        """
    import ray

    INIT
    print(ray.init(ignore_reinit_error=True).address_info["node_id"] == ray.get_runtime_context().get_node_id())
    """,
    )
    driver = scripts.start("script.py")
    assert scripts.finished(driver) == "True\n"
    assert driver.err.count("Calling ray.init() again after it has already been called.") == 1
